package editor

import (
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// memberFollows matches a member after the word at the cursor.
var memberFollows = lazyregexp.New(`^\??\.[A-Za-z_]`)

// addPlace adds what may be written at a place of an expression.
func (c *completion) addPlace(p *eval.Place) {
	switch {
	case p.Roots != nil:
		c.addRoots(p)
	case p.Root != nil:
		c.addMembers(membersOfRoot(p.Root, p))
	default:
		c.addMembers(membersOfType(p.Type))
	}
}

// member is a name that can follow a dot.
type member struct {
	name string
	typ  *schema.Type
	null string // why it may be null; empty if it may not
	doc  string
}

func membersOfRoot(r *eval.Root, p *eval.Place) (all []member) {
	if r.Members == nil {
		return membersOfType(r.Type)
	}
	for _, name := range diag.SortedNames(r.Members) {
		if m := r.Members[name]; !m.Sensitive || p.Secrets {
			all = append(all, member{name: name, typ: m.Type, null: m.NullReason})
		}
	}
	return all
}

func membersOfType(t *schema.Type) (all []member) {
	if t == nil {
		return nil
	}
	if t = t.Unfolded(); t.Kind == schema.File {
		t = schema.FileMembers()
	}
	for _, m := range slices.Concat(t.Members, t.Declared) {
		x := member{name: m.Name, typ: m.Type.Unfolded(), doc: m.Type.Description}
		if m.Optional && !m.HasDefault || m.Type.Nullable {
			x.null = m.Name + " may be null"
		}
		all = append(all, x)
	}
	return all
}

func (c *completion) addMembers(all []member) {
	for _, m := range all {
		c.add(Item{Label: m.name, Kind: ItemMember, Detail: describe(m.typ, m.null), Doc: m.doc})
	}
}

func describe(t *schema.Type, null string) string {
	if t == nil {
		return ""
	}
	text := cut.Runes(t.String(), 80)
	if null != "" && !t.Nullable {
		text += ", may be null"
	}
	return text
}

var rootDocs = map[string]string{"input": "The arguments of the call.", "output": "The result of the backend.",
	"step": "The results of earlier steps.", "local": "Named values.", "var": "Variables.", "secret": "Secrets.",
	"caller": "Who calls.", "each": "The current element.", "error": "The failure of the call.",
	"tool": "The tool that is called."}

// addRoots adds the variables and roots of an expression, constants and functions. Where true or false is wanted, the
// constants are first.
func (c *completion) addRoots(p *eval.Place) {
	call, follows := strings.HasPrefix(c.after(), "("), memberFollows.MatchString(c.after())
	wanted := c.finding.argument != nil && c.finding.argument.Type == "bool"
	if wanted && !call && !follows {
		c.addConstants()
	}
	if !call {
		for _, name := range diag.SortedNames(p.Vars) {
			c.add(Item{Label: name, Kind: ItemReference, Detail: describe(p.Vars[name], "")})
		}
		for _, name := range diag.SortedNames(p.Roots) {
			c.addRoot(name, p, follows)
		}
	}
	if follows {
		return
	}
	if !wanted && !call {
		c.addConstants()
	}
	c.addFunctions(p.Program)
}

func (c *completion) addConstants() {
	for _, word := range []string{"true", "false", "null"} {
		c.add(Item{Label: word, Kind: ItemKeyword})
	}
}

func (c *completion) addRoot(name string, p *eval.Place, follows bool) {
	r := p.Roots[name]
	if p.Program && r.Hidden {
		return
	}
	members := membersOfRoot(r, p)
	if r.Members != nil && len(members) == 0 {
		return
	}
	item := Item{Label: name, Kind: ItemReference, Doc: rootDocs[name]}
	if r.Members == nil {
		item.Detail = describe(r.Type, "")
	}
	if !follows && (r.Value == nil || name != "output" && name != "each") {
		item.Insert = name + "."
	}
	c.add(item)
}
