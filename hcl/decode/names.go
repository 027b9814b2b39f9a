package decode

import (
	"iter"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
)

// CheckNames reports arguments and blocks that the parts of a spec do not have.
func (d *Decoder) CheckNames(block *hclsyntax.Block, parts ...Spec) {
	b := block.Body
	d.Typos = nil
	if d.Observer != nil {
		d.Observer.Body(block, parts)
	}
	for name, a := range b.Attributes {
		f := findField(parts, name, true)
		switch {
		case f != nil && f.isArgument():
		case f != nil:
			d.Errorf(a.NameRange, "Block needed", "%s is a block: write `%s { … }` without the equals sign.", name,
				name)
		case renamedTo(parts, name) != "":
			present := renamedTo(parts, name)
			d.Typos = append(d.Typos, present)
			d.Errorf(a.NameRange, "Renamed argument", "%q was renamed to %q. Write %s = ….", name, present,
				diag.Correct(name, present, present))
		default:
			all, attrs, _ := fieldNames(parts)
			d.noteTypo(name, all)
			d.Errorf(a.NameRange, "Unknown argument", "There is no argument %q here.%s", name,
				fieldHint(parts, name, findHint(argumentHints, name, all, diag.SuggestOr(name, all,
					argumentHint(name, parts, diag.ListAre(attrs))))))
		}
	}
	for _, nested := range b.Blocks {
		f := findField(parts, nested.Type, false)
		switch {
		case f != nil && !f.isArgument():
		case f != nil:
			d.Errorf(nested.TypeRange, "Argument needed", "%s is an argument: write `%s = …`.", nested.Type,
				nested.Type)
		default:
			all, _, blocks := fieldNames(parts)
			d.noteTypo(nested.Type, all)
			d.Errorf(nested.TypeRange, "Unknown block", "There is no block %q here.%s", nested.Type,
				d.blockHint(nested.Type, parts, all, diag.SuggestOr(nested.Type, all, diag.ListAre(blocks))))
		}
	}
}

// noteTypo records the argument that a misspelled name was meant to be, so that it is not reported
// as missing too.
func (d *Decoder) noteTypo(name string, among []string) {
	d.Typos = append(d.Typos, spelling.Nearest(name, among))
	if name == "type" && slices.Contains(among, "is") {
		d.Typos = append(d.Typos, "is")
	}
}

// fields returns the fields of the parts of a spec.
func fields(parts []Spec) iter.Seq[*Field] {
	return func(yield func(*Field) bool) {
		for _, spec := range parts {
			for i := range spec {
				if !yield(&spec[i]) {
					return
				}
			}
		}
	}
}

// renamedTo returns the current name of a renamed argument, or "".
func renamedTo(parts []Spec, name string) string {
	for f := range fields(parts) {
		if f.formerly == name {
			return f.Name
		}
	}
	return ""
}

// findField returns the field of a name, as an argument or as a block if both exist; nil for none.
func findField(parts []Spec, name string, argument bool) (found *Field) {
	for f := range fields(parts) {
		if f.Name == name && (found == nil || argument == f.isArgument()) {
			found = f
		}
	}
	return found
}

func fieldNames(parts []Spec) (all, attrs, blocks []string) {
	for f := range fields(parts) {
		all = append(all, f.Name)
		if f.isArgument() {
			attrs = append(attrs, f.Name)
		} else {
			blocks = append(blocks, f.Name)
		}
	}
	return all, attrs, blocks
}

// argumentHint returns the nested block that has a misplaced argument, or otherwise.
func argumentHint(name string, parts []Spec, otherwise string) string {
	for f := range fields(parts) {
		if f.isArgument() {
			continue
		}
		if inner := findField([]Spec{f.Nested()}, name, true); inner != nil && inner.isArgument() {
			return " It belongs in the block " + f.Name + ": " + f.Name + " { " + name + " = … }."
		}
	}
	return otherwise
}
