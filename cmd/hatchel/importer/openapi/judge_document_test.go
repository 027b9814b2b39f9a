package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
)

// loadDocument reads a document for the judge. The library refuses a whole document for one mistake, so what requests
// do not depend on is removed before.
func loadDocument(name string) (*openapi3.T, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
		v, err := readDocument(at.Path)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
	v, err := readDocument(name)
	if err != nil {
		return nil, err
	}
	root, _ := v.(map[string]any)
	if !strings.HasPrefix(fmt.Sprint(root["swagger"]), "2") {
		return loader.LoadFromFile(name)
	}
	src, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var doc openapi2.T
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, err
	}
	return openapi2conv.ToV3WithLoader(&doc, loader, &url.URL{Path: name})
}

func readDocument(name string) (any, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var v any
	if d := json.NewDecoder(bytes.NewReader(src)); bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
	} else {
		var root yaml.Node
		if err := yaml.Unmarshal(src, &root); err != nil {
			return nil, err
		}
		v = valueOf(root.Content[0])
	}
	r := reader{root: v}
	v = r.mend(v, "", "")
	return v, inlineOperations(v, filepath.Dir(name))
}

// inlineOperations replaces references in place of whole operations, which the library does not follow.
func inlineOperations(v any, dir string) error {
	root, _ := v.(map[string]any)
	paths, _ := root["paths"].(map[string]any)
	for _, item := range paths {
		methods, _ := item.(map[string]any)
		for method, operation := range methods {
			o, _ := operation.(map[string]any)
			ref, ok := o["$ref"].(string)
			if !ok || strings.Contains(ref, "#") {
				continue
			}
			v, err := readDocument(filepath.Join(dir, ref))
			if err != nil {
				return err
			}
			moveReferences(v, path.Dir(ref))
			methods[method] = v
		}
	}
	return nil
}

// moveReferences makes references relative to the directory above dir.
func moveReferences(v any, dir string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			moveReferences(e, dir)
		}
	case map[string]any:
		for name, e := range v {
			if ref, ok := e.(string); ok && name == "$ref" && !strings.HasPrefix(ref, "#") {
				v[name] = path.Join(dir, ref)
			}
			if mapping, ok := e.(map[string]any); ok && name == "mapping" {
				for value, target := range mapping {
					if text, ok := target.(string); ok && strings.Contains(text, ".y") {
						mapping[value] = path.Join(dir, text)
					}
				}
			}
			moveReferences(e, dir)
		}
	}
}

// valueOf returns a node of YAML as a value of JSON.
func valueOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return valueOf(n.Alias)
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := valueOf(n.Content[i+1]); n.Content[i].Tag != "!!merge" {
				out[n.Content[i].Value] = v
			} else if merged, ok := v.(map[string]any); ok {
				for k, e := range merged {
					out[k] = e
				}
			}
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			out = append(out, valueOf(e))
		}
		return out
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		var v any
		if n.Decode(&v) == nil {
			return v
		}
	}
	return n.Value
}

// reader removes from a document what requests do not depend on.
type reader struct{ root any }

// named are the mappings whose keys are names of the document.
var named = map[string]bool{
	"properties": true, "paths": true, "schemas": true, "definitions": true, "parameters": true, "responses": true,
	"requestBodies": true, "headers": true, "securitySchemes": true, "securityDefinitions": true, "variables": true,
	"encoding": true, "content": true, "mapping": true, "": true,
}

// mend returns a value without what requests do not depend on. key is its name, and parent that of the object around it.
func (r *reader) mend(v any, key, parent string) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = r.mend(e, "", key)
		}
	case map[string]any:
		isName := named[key] && !named[parent] || key == "properties" && parent != "properties"
		if v["nullable"] == true && !isName && r.is31() {
			if kind, ok := v["type"].(string); ok { // some documents of version 3.1 use the word of 3.0
				v["type"] = []any{kind, "null"}
			}
		}
		for name, e := range v {
			ref, isText := e.(string)
			switch {
			case key == "properties" && isName && isText:
				delete(v, name)
				continue
			case isName:
			case slices.Contains(irrelevant, name), strings.HasPrefix(name, "x-"):
				delete(v, name)
				continue
			case name == "$ref" && isText && strings.HasPrefix(ref, "#/") && !r.has(ref[2:]):
				return map[string]any{}
			}
			v[name] = r.mend(e, name, key)
		}
	}
	return v
}

func (r *reader) is31() bool {
	root, _ := r.root.(map[string]any)
	version, _ := root["openapi"].(string)
	return strings.HasPrefix(version, "3.1")
}

// irrelevant are members that requests do not depend on. Some defaults do not fit their own schema.
var irrelevant = []string{"example", "examples", "description", "externalDocs", "callbacks", "links", "webhooks", "tags",
	"responses", "xml", "security", "default"}

// has reports whether a JSON pointer of this document leads somewhere.
func (r *reader) has(pointer string) bool {
	v := r.root
	for word := range strings.SplitSeq(pointer, "/") {
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		if plain, err := url.PathUnescape(word); err == nil {
			word = plain
		}
		switch parent := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = parent[word]; !ok {
				return false
			}
		case []any:
			i, err := strconv.Atoi(word)
			if err != nil || i >= len(parent) {
				return false
			}
			v = parent[i]
		default:
			return false
		}
	}
	return true
}
