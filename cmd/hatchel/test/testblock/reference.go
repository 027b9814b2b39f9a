package testblock

import (
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

// Reference documents the blocks of tests.
func Reference(kinds hcl.Kinds) []hcl.BlockReference {
	b := newBlock(&hcl.Config{Kinds: kinds}, hcl.TestBlock{})
	refs := []hcl.BlockReference{{Name: `test "name"`, Key: "test",
		Doc: "A call of a tool, a prompt or a resource, the answers of its backends, and the expected result. " +
			"Tests are written in files of their own, such as orders.test.hcl, or in those of the tools. hatchel " +
			"test runs them, and a server ignores them. A request that no mock answers fails the test, and so does a " +
			"mock that is not used.",
		Spec: decode.Join(b.headSpec(), b.blockSpec())}}
	refs = append(refs, hcl.BlockReference{Name: `search_test "question"`, Key: "search_test",
		Doc: "A question in the words of a user, and the tools that the search of a toolset has to find for it. It " +
			"is among the tests that hatchel test runs. The test passes if all of the tools are among those that the " +
			"search returns by default. With hatchel test --min-recall the mean of all questions decides instead.",
		Spec: newSearch(&hcl.Config{}, hcl.TestBlock{}).spec()})
	for _, backend := range kinds.Backends {
		if backend.Mock == nil {
			continue
		}
		label := ""
		switch {
		case backend.ConnectionRequired:
			label = ` "connection"`
		case backend.Connections != nil:
			label = ` ["connection"]`
		}
		refs = append(refs, hcl.BlockReference{Name: `mock "` + backend.Name + `"` + label, Key: "mock " + backend.Name,
			Doc: backend.Mock.Doc, Spec: newMock(backend.Name, backend.Mock).spec()})
	}
	return refs
}
