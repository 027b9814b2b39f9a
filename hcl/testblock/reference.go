package testblock

import (
	"hatchel/hcl"
	"hatchel/hcl/decode"
)

// Reference documents the blocks of tests.
func Reference() []hcl.BlockReference {
	b := newBlock(&hcl.Config{}, hcl.TestBlock{})
	refs := []hcl.BlockReference{{Name: `test "name"`, Key: "test",
		Doc: "A call of a tool, a prompt or a resource, the answers of its backends, and the expected result. " +
			"Tests are written in files of their own, such as orders.test.hcl, or in those of the tools. hatchel " +
			"test runs them, and a server ignores them. A request that no mock answers fails the test, and so does a " +
			"mock that is not used.",
		Spec: decode.Join(b.headSpec(), b.blockSpec())}}
	for _, kind := range []struct{ name, label, doc string }{
		{"http", ` ["connection"]`, "In a test: a request, and the responses to it. Without a label it " +
			"has a whole URL, and answers requests of every connection, and of blocks without connection."},
		{"sql", ` "connection"`, "In a test: a statement, and the answers to it; or with init a SQLite database in " +
			"memory, which answers all statements of the connection."},
		{"shell", ` ["connection"]`, "In a test: a program or a script, and what it writes. Each program " +
			"of a pipe is mocked by itself."},
	} {
		refs = append(refs, hcl.BlockReference{Name: `mock "` + kind.name + `"` + kind.label, Key: "mock " + kind.name,
			Doc: kind.doc, Spec: newMock(kind.name).spec()})
	}
	return refs
}
