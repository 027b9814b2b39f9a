package openapi

import (
	"encoding/json"
	"strings"
)

// inputSchema returns the input schema of an operation, about as it is advertised.
func inputSchema(op *operation) []byte {
	var members []*branch
	w := &schemaWriter{uses: map[typeKey]int{}, first: map[typeKey]*tree{}}
	for _, in := range op.inputs {
		members = append(members, &branch{in.name, in.tree, in.required})
		w.count(in.tree, true)
	}
	w.keepWhatSaves()
	out := w.appendObject(nil, members, "")
	for i := 0; i < len(w.defs); i++ { // a definition may refer to others
		out = append(append(out, `,"`+w.defs[i].schema.name+`":`...), w.appendWhole(nil, w.defs[i])...)
	}
	return out
}

// schemaWriter writes trees as JSON Schema. The zero value refers only to what is written elsewhere.
type schemaWriter struct {
	uses  map[typeKey]int // of components that are written once, because they are used twice
	first map[typeKey]*tree
	defs  []*tree // those that were referred to
	done  map[typeKey]bool
}

// count counts the components that will be type blocks.
func (w *schemaWriter) count(t *tree, top bool) {
	if t.again {
		w.uses[t.typeKey()]++
		return
	}
	if t.named = t.isComponent() && (top || !t.described); t.named {
		key := t.typeKey()
		if w.uses[key]++; w.first[key] != nil {
			return
		}
		w.first[key] = t
	}
	t.eachPart(func(part *tree) { w.count(part, false) })
}

// keepWhatSaves removes components that are shorter where they are used: the server refers to a type when that saves
// 200 bytes.
func (w *schemaWriter) keepWhatSaves() {
	for key, n := range w.uses {
		if w.first[key] == nil {
			continue
		}
		if whole := len((&schemaWriter{}).appendTree(nil, w.first[key])); n < 2 || (n-1)*whole-n*30 < 200 {
			delete(w.uses, key)
		}
	}
}

// appendTree writes a tree, or a reference to it.
func (w *schemaWriter) appendTree(dst []byte, t *tree) []byte {
	key := t.typeKey()
	switch inPlace := w.uses[key] < 2 && w.first != nil; {
	case t.again && inPlace:
		return w.appendWhole(dst, t.of)
	case t.kind != recursionKind && (!t.named || inPlace || w.first == nil):
		return w.appendWhole(dst, t)
	}
	if !w.done[key] {
		if w.done == nil {
			w.done = map[typeKey]bool{}
		}
		w.done[key] = true
		if t.of != nil {
			w.defs = append(w.defs, t.of)
		} else {
			w.defs = append(w.defs, t)
		}
	}
	return append(dst, `{"$ref":"#/$defs/`+t.schema.name+`"}`...)
}

func (w *schemaWriter) appendObject(dst []byte, members []*branch, text string) []byte {
	dst = append(dst, `{"type":"object",`...)
	if text != "" {
		dst = append(append(append(dst, `"description":`...), quoteJSON(text)...), ',')
	}
	dst = append(dst, `"properties":{`...)
	var required []string
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendTree(append(append(dst, quoteJSON(m.name)...), ':'), m.tree)
		if m.required {
			required = append(required, m.name)
		}
	}
	dst = append(dst, '}')
	if required != nil {
		names, _ := json.Marshal(required)
		dst = append(append(dst, `,"required":`...), names...)
	}
	return append(dst, `,"additionalProperties":false}`...)
}

// schemaTypes are the types of JSON Schema of kinds with another name.
var schemaTypes = map[kind]string{listKind: "array", setKind: "array", mapKind: "object", boolKind: "boolean",
	fileKind: "object"}

func (w *schemaWriter) appendWhole(dst []byte, t *tree) []byte {
	if t.kind == objectKind {
		return w.appendObject(dst, t.members, t.text)
	}
	dst = append(dst, '{')
	begin := len(dst)
	add := func(name, v string) {
		if v != "" {
			if len(dst) > begin {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), name...), `":`...)
			dst = append(dst, v...)
		}
	}
	switch typ := schemaTypes[t.kind]; {
	case t.kind == oneOfKind:
		options := []byte("[")
		for i, o := range t.options {
			if i > 0 {
				options = append(options, ',')
			}
			options = w.appendTree(options, o)
		}
		add("anyOf", string(options)+"]")
	case typ != "":
		add("type", `"`+typ+`"`)
	case t.kind != anyKind:
		add("type", `"`+string(t.kind)+`"`)
	}
	if t.nullable {
		add("type", `[,"null"]`)
	}
	if t.text != "" {
		add("description", quoteJSON(t.text))
	}
	if t.elem != nil {
		word := "items"
		if t.kind == mapKind {
			word = "additionalProperties"
		}
		add(word, string(w.appendTree(nil, t.elem)))
	}
	switch {
	case len(t.enum) > 0 && t.enumTitles != nil:
		titled := make([]string, len(t.enum))
		for i, v := range t.enum {
			titled[i] = `{"const":` + v + `,"title":` + quoteJSON(t.enumTitles[i]) + "}"
		}
		add("oneOf", "["+strings.Join(titled, ",")+"]")
	case len(t.enum) > 0:
		add("enum", "["+strings.Join(t.enum, ",")+"]")
	}
	b := t.bounds
	for _, pair := range [][2]string{{"minimum", b.min}, {"maximum", b.max}, {"exclusiveMinimum", b.above},
		{"exclusiveMaximum", b.below}, {"minLength", b.minLength}, {"maxLength", b.maxLength},
		{"minItems", b.minItems}, {"maxItems", b.maxItems}} {
		add(pair[0], pair[1])
	}
	if t.pattern != "" {
		add("pattern", quoteJSON(t.pattern))
	}
	if t.format != "" {
		add("format", `"`+t.format+`"`)
	}
	if t.kind == setKind {
		add("uniqueItems", "true")
	}
	return append(dst, '}')
}
