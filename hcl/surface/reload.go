package surface

import (
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// OfReload returns the surfaces of a configuration and of a later load of the same directory, without the tools,
// prompts, resources and skills that are the same in both. Compare finds the same differences in them as in the
// surfaces that Of returns; a reload of one changed file does not pay for all the others. Both configurations
// were loaded without errors, and parallel is that of Of.
func OfReload(served, loaded *hcl.Config, parallel func(n int, do func(i int))) (before, after *Surface) {
	changed := changedOperations(served, loaded)
	return build(served, changed, parallel), build(loaded, changed, parallel)
}

// selection is the operations that a surface contains; nil for all.
type selection map[*hcl.Operation]bool

func (s selection) has(op *hcl.Operation) bool { return s == nil || s[op] }

// operationsOf returns the tools, prompts, resources and skills, each by name.
func operationsOf(c *hcl.Config) (lists [4][]*hcl.Operation) {
	for _, t := range c.Tools {
		lists[0] = append(lists[0], &t.Operation)
	}
	for _, p := range c.Prompts {
		lists[1] = append(lists[1], &p.Operation)
	}
	for _, r := range c.Resources {
		lists[2] = append(lists[2], &r.Operation)
	}
	for _, s := range c.Skills {
		lists[3] = append(lists[3], &s.Operation)
	}
	return lists
}

// changedOperations returns the operations of two configurations that are not the same in both. The digest of an
// operation covers its block and the values, types, files and connections that it reads. A surface also shows how
// values are written and which policies apply; all operations count as changed if these did.
func changedOperations(a, b *hcl.Config) selection {
	if !slices.EqualFunc(a.Settings, b.Settings, sameSetting) || !slices.Equal(valueTexts(a), valueTexts(b)) {
		return nil
	}
	changed := selection{}
	after := operationsOf(b)
	for i, before := range operationsOf(a) {
		changed.addDifferences(before, after[i])
	}
	return changed
}

func sameSetting(a, b hcl.Setting) bool { return a.Name == b.Name && a.Digest == b.Digest }

// addDifferences adds the operations of two lists by name that are not in the other one, or with another digest.
func (s selection) addDifferences(a, b []*hcl.Operation) {
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].Name, b[0].Name); {
		case order < 0:
			s[a[0]], a = true, a[1:]
		case order > 0:
			s[b[0]], b = true, b[1:]
		default:
			if a[0].Digest != b[0].Digest {
				s[a[0]], s[b[0]] = true, true
			}
			a, b = a[1:], b[1:]
		}
	}
	for _, op := range append(slices.Clone(a), b...) {
		s[op] = true
	}
}

// valueTexts returns the blocks that declare values, as they are written.
func valueTexts(c *hcl.Config) (texts []string) {
	for _, b := range c.Values {
		r := b.Range()
		texts = append(texts, string(c.Sources[r.Filename][r.Start.Byte:b.CloseBraceRange.End.Byte]))
	}
	slices.Sort(texts)
	return texts
}

// filesOf returns the files that a surface of these operations reads, sorted: those of the operations, and those of
// the toolsets, whose members may have changed.
func (s selection) filesOf(c *hcl.Config) []string {
	if s == nil {
		return diag.SortedNames(c.Sources)
	}
	files := map[string]bool{}
	for _, list := range operationsOf(c) {
		for _, op := range list {
			if s[op] {
				files[op.Range.File] = true
			}
		}
	}
	for _, t := range c.Toolsets {
		files[t.Range.File] = true
	}
	return diag.SortedNames(files)
}
