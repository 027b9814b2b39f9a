package edit

import (
	"regexp"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// following are the members that are written after the word at the cursor.
var following = regexp.MustCompile(`^(?:\??\.[A-Za-z_][A-Za-z0-9_]*)+`)

// addPlace adds what may be written at a place of an expression.
func (c *completion) addPlace(p *eval.Place) {
	var next []string
	for _, name := range strings.Split(following.FindString(c.after()), ".") {
		if name = strings.TrimSuffix(name, "?"); name != "" {
			next = append(next, name)
		}
	}
	switch {
	case p.Roots != nil:
		c.addRoots(p, next)
	case p.Root != nil:
		c.addMembers(membersOfRoot(p.Root, p), next)
	default:
		c.addMembers(membersOfType(p.Type), next)
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

// has says whether a value of a type has the members that are written after it; known is false if it cannot be known.
func has(t *schema.Type, next []string) (yes, known bool) {
	for _, name := range next {
		if t == nil || t.Kind == schema.Any || t.Kind == schema.Map {
			return true, false
		}
		members := membersOfType(t)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			return false, true
		}
		t = members[i].typ
	}
	return true, len(next) > 0
}

func fitScore(t *schema.Type, next []string) float64 {
	switch yes, known := has(t, next); {
	case yes && known:
		return 100
	case !yes:
		return -100
	case t != nil && t.Kind != schema.Any && t.Kind != schema.Map && len(next) > 0:
		return -50
	}
	return 0
}

func (c *completion) addMembers(all []member, next []string) {
	for i, m := range all {
		item := Item{Label: m.name, Kind: ItemMember, Detail: describe(m.typ, m.null), Doc: m.doc}
		item.score = fitScore(m.typ, next) + c.likeness(m.name) + c.novelty(m.name) - float64(i)/100
		if slices.Contains(likelyMembers, m.name) {
			item.score += 16
		}
		c.add(item)
	}
}

func describe(t *schema.Type, null string) string {
	if t == nil {
		return ""
	}
	text := t.String()
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80]) + "…"
	}
	if null != "" && !t.Nullable {
		text += ", may be null"
	}
	return text
}

// rootScores say how likely a root is if nothing else tells.
var rootScores = map[string]float64{"input": 9, "each": 12, "output": 8, "step": 8, "local": 5, "error": 12, "var": 4,
	"secret": 6, "caller": 1, "tool": 2, "result": 9, "text": 8, "sent": 8, "called": 7, "content": 5, "after": 5}

var rootDocs = map[string]string{"input": "The arguments of the call.", "output": "The result of the backend.",
	"step": "The results of earlier steps.", "local": "Named values.", "var": "Variables.", "secret": "Secrets.",
	"caller": "Who calls.", "each": "The current element.", "error": "The failure of the call.",
	"tool": "The tool that is called."}

func (c *completion) addRoots(p *eval.Place, next []string) {
	call := strings.HasPrefix(c.after(), "(")
	if !call {
		for _, name := range diag.SortedNames(p.Vars) {
			c.add(Item{Label: name, Kind: ItemReference, Detail: describe(p.Vars[name], ""),
				score: 30 + fitScore(p.Vars[name], next) + c.novelty(name)})
		}
		for _, name := range diag.SortedNames(p.Roots) {
			c.addRoot(name, p, next)
		}
	}
	if len(next) > 0 {
		return
	}
	c.addFunctions(p.Program)
	if !call {
		score := -15.0
		if f := c.finding.argument; f != nil && f.Type == "bool" {
			score = 60
		}
		for i, word := range []string{"true", "false", "null"} {
			c.add(Item{Label: word, Kind: ItemKeyword, score: score - 20*float64(i/2)})
		}
	}
}

func (c *completion) addRoot(name string, p *eval.Place, next []string) {
	r := p.Roots[name]
	if p.Program && r.Hidden {
		return
	}
	item := Item{Label: name, Kind: ItemReference, Doc: rootDocs[name], score: rootScores[name]}
	members := membersOfRoot(r, p)
	if r.Members != nil && len(members) == 0 {
		return
	}
	if r.Members == nil {
		item.Detail = describe(r.Type, "")
	}
	if len(next) > 0 {
		item.score += rootFit(r, members, next)
	}
	item.score += c.useScore(name, '.')
	if len(next) == 0 && r.Value == nil || len(next) == 0 && name != "output" && name != "each" {
		item.Insert = name + "."
	}
	if len(next) > 0 || !strings.HasSuffix(item.Insert, ".") {
		item.Insert = name
	}
	c.add(item)
}

func rootFit(r *eval.Root, members []member, next []string) float64 {
	if r.Members == nil {
		return fitScore(r.Type, next)
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.name == next[0] })
	if i < 0 {
		return -100
	}
	return 100 + fitScore(members[i].typ, next[1:])/10
}

// likelyMembers are written more than others of the values of the language itself.
var likelyMembers = []string{"groups", "subject", "filename", "path", "capabilities", "message"}
