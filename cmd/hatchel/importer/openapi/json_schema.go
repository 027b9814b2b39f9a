package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
)

// Property is a property of a JSON Schema as an input or a member of the language.
type Property struct {
	Name     string
	Required bool
	Type     string // with optional(…) if it is not required
}

// JSONSchema reads a JSON Schema of an object (draft 2020-12 or 07), such as the input schema of a tool, and
// returns its properties, the required ones first. They have at most the levels and bytes of the options; what
// exceeds them is any. Losses have no name. It reads no other documents: a reference to one is a loss.
func JSONSchema(src []byte, o Options) ([]Property, []importer.Loss, error) {
	s, err := readJSONSchema(src)
	if err != nil {
		return nil, nil, err
	}
	members, losses := slices.Clone(s.members), slices.Clone(s.losses)
	if s.kind == mapKind { // what is required of a map is an input, and no loss
		for _, name := range s.requires {
			members = append(members, &member{name, s.elem, true})
		}
		losses = slices.DeleteFunc(losses, func(l importer.Loss) bool { return l.Kind == undeclaredLoss })
	}
	slices.SortStableFunc(members, func(a, b *member) int { return rank(a.required) - rank(b.required) })
	branches, more := expand(members, make([]string, len(members)), o, true, true)
	losses = append(losses, more...)
	w := &typeWriter{}
	var all []Property
	for i, b := range branches {
		losses = append(losses, b.tree.inline(b.name, 0)...)
		fallback := ""
		if at := members[i].schema.fallback; at.exists() && !b.required {
			if fallback = constant(b.tree, at); importer.IsCredential(b.name, at.text()) {
				fallback = ""
				losses = append(losses, importer.Loss{Kind: "default left out",
					Detail: b.name + " may be a credential"})
			}
		}
		all = append(all, Property{b.name, b.required, w.member(b.tree, b.required, fallback)})
	}
	return all, distinct(losses), nil
}

// distinct returns losses, each once.
func distinct(losses []importer.Loss) (all []importer.Loss) {
	for _, l := range losses {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

func rank(required bool) int {
	if required {
		return 0
	}
	return 1
}

// JSONSchemaType returns the type of a JSON Schema, such as the output schema of a tool.
func JSONSchemaType(src []byte, o Options) (string, []importer.Loss, error) {
	s, err := readJSONSchema(src)
	if err != nil {
		return "", nil, err
	}
	branches, losses := expand([]*member{{"result", s, true}}, []string{""}, o, true, true)
	t := branches[0].tree
	losses = append(losses, t.inline("result", 0)...)
	return (&typeWriter{}).typ(t), distinct(losses), nil
}

func readJSONSchema(src []byte) (*schema, error) {
	if !json.Valid(src) {
		return nil, fmt.Errorf("it is not valid JSON")
	}
	d, err := parseDocument("schema", src)
	if err != nil {
		return nil, err
	}
	r := newResolver(&source{ctx: context.Background(), single: true})
	r.documents[d.location] = d
	reader := &schemaReader{r, map[*yaml.Node]*schema{}, map[*yaml.Node]*schema{}}
	return follow(reader.schema(node{d, d.root})), nil
}

// inline replaces the references of a tree to type blocks: one to a component again by the component, and one to
// the tree around it by any, which is a loss, as a description that was cut is.
func (t *tree) inline(path string, depth int) (losses []importer.Loss) {
	if whole := stripMarkup(t.schema.text); len(whole) > t.cap && len(t.text) < len(whole) && suspicious(whole) == "" {
		detail := fmt.Sprintf("the description of %s has %d bytes, and the first %d are written", path, len(whole),
			len(t.text))
		switch {
		case t.cap == 0:
			detail = "its schema is large, so descriptions of inputs and members are left out"
		case t.cap < textCaps[0]:
			detail = fmt.Sprintf("its schema is large, so descriptions of inputs and members have at most %d bytes",
				t.cap)
		}
		losses = append(losses, importer.Loss{Kind: "text shortened", Detail: detail})
	}
	if t.kind == recursionKind {
		if of := t.of; t.again && depth < maxInlined {
			*t = *of
		} else {
			t.kind, t.of, t.cut = anyKind, nil, "recursive schema"
			t.text = t.describeMembers()
			losses = append(losses, importer.Loss{Kind: t.cut, Detail: path + " is any"})
		}
	}
	t.named = false
	part := func(of *tree, path string) *tree {
		c := *of
		losses = append(losses, c.inline(path, depth+1)...)
		return &c
	}
	t.members = slices.Clone(t.members)
	for i, m := range t.members {
		t.members[i] = &branch{m.name, part(m.tree, path+"."+m.name), m.required}
	}
	if t.elem != nil {
		t.elem = part(t.elem, path)
	}
	t.options = slices.Clone(t.options)
	for i, o := range t.options {
		t.options[i] = part(o, path)
	}
	return losses
}

// maxInlined is the number of levels up to which components are written where they are used.
const maxInlined = 12
