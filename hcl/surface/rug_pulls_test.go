package surface_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

const rugPullBase = "testdata/rug_pulls.hcl"

var classes = []string{"compatible", "behaviour", "widening", "breaking"}

// TestARugPullHasAtLeastItsClass changes one thing of tools that somebody trusts. A line "= widening does" of
// the file says that a change of this kind has at least this class, and no restriction hides it from hold.
func TestARugPullHasAtLeastItsClass(t *testing.T) {
	for _, name := range []string{"rug_pulls", "access"} {
		base := read(t, "testdata/"+name+".hcl")
		before := surfaceOfText(t, base)
		for _, p := range readPairs(t, "testdata/"+name+".txt") {
			changes := surface.Compare(before, surfaceOfText(t, p.applyTo(t, base))).Changes
			for _, want := range p.want {
				class, kind, _ := strings.Cut(want, " ")
				if !slices.ContainsFunc(changes, func(c surface.Change) bool {
					return c.Kind == kind && int(c.Class) >= slices.Index(classes, class) && !c.Restriction
				}) {
					t.Errorf("%s: no change has %q: %v", p.name, want, changes)
				}
			}
		}
	}
}

// unseen are arguments that nobody who calls a tool depends on.
var unseen = []string{" server.version", " variable shop_url.type"}

// TestNoChangeOfAnArgumentIsSilent changes each text, number and boolean of a configuration, and removes each argument
// and nested block. What still loads without an error has a change of the surface.
func TestNoChangeOfAnArgumentIsSilent(t *testing.T) {
	base := read(t, rugPullBase)
	before := surfaceOfText(t, base)
	loaded := 0
	check := func(what string, start, end int, with string) {
		changed := base[:start] + with + base[end:]
		files := fstest.MapFS{"a.hcl": {Data: []byte(changed)}}
		config, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{Dir: "/srv/tools"}.ForCheck())
		if diags.HasErrors() {
			return
		}
		loaded++
		if len(surface.Compare(before, surface.Of(config, nil)).Changes) == 0 {
			t.Errorf("%s can change from %q to %q, and nobody sees it", what, base[start:end], with)
		}
	}
	file, _ := hclsyntax.ParseConfig([]byte(base), rugPullBase, hclv2.InitialPos)
	var walk func(path string, top *hclsyntax.Block, body *hclsyntax.Body)
	walk = func(path string, top *hclsyntax.Block, body *hclsyntax.Body) {
		for _, a := range body.Attributes {
			at := path + "." + a.Name
			if slices.Contains(unseen, at) {
				continue
			}
			check(at, a.SrcRange.Start.Byte, a.SrcRange.End.Byte, "")
			hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hclv2.Diagnostics {
				if l, ok := n.(*hclsyntax.LiteralValueExpr); ok {
					r := l.SrcRange
					switch text := base[r.Start.Byte:r.End.Byte]; text {
					case "true":
						check(at, r.Start.Byte, r.End.Byte, "false")
					case "false":
						check(at, r.Start.Byte, r.End.Byte, "true")
					default:
						check(at, r.End.Byte, r.End.Byte, "1")
						check(at, r.Start.Byte, r.Start.Byte+1, "9")
					}
				}
				return nil
			})
		}
		for _, b := range body.Blocks {
			if top != nil {
				check(path+"."+b.Type, b.TypeRange.Start.Byte, b.CloseBraceRange.End.Byte, "")
			}
			for _, r := range b.LabelRanges {
				if top != nil {
					check(path+"."+b.Type, r.End.Byte-1, r.End.Byte-1, "1")
				}
			}
			walk(strings.Join(append([]string{path, b.Type}, b.Labels...), " "), cmp.Or(top, b), b.Body)
		}
	}
	walk("", nil, file.Body.(*hclsyntax.Body))
	if loaded < 100 {
		t.Errorf("only %d changes load", loaded)
	}
}
