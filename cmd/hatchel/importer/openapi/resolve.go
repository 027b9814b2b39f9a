package openapi

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// maxHops is the number of references that may follow each other.
const maxHops = 50

// resolver follows references. Only what is asked for is read.
type resolver struct {
	source    *source
	documents map[string]*document
	failed    map[string]error
	targets   map[string]node // by location and pointer
}

func newResolver(s *source) *resolver {
	return &resolver{s, map[string]*document{}, map[string]error{}, map[string]node{}}
}

// load reads a document once.
func (r *resolver) load(location string, stdin io.Reader) (*document, error) {
	if d := r.documents[location]; d != nil {
		return d, nil
	}
	if err := r.failed[location]; err != nil {
		return nil, err
	}
	src, err := r.source.read(location, stdin)
	var d *document
	if err == nil {
		d, err = parseDocument(location, src)
	}
	if err != nil {
		sep := ": "
		if c := err.Error()[0]; c >= '0' && c <= '9' { // line:column
			sep = ":"
		}
		err = fmt.Errorf("%s%s%w", Redacted(location), sep, err)
		r.failed[location] = err
		return nil, err
	}
	r.documents[location] = d
	return d, nil
}

// resolve follows the $ref of a node. Nodes without one are returned as they are.
func (r *resolver) resolve(n node) (node, error) {
	for range maxHops {
		ref := n.get("$ref")
		if !ref.isString() {
			return n, nil
		}
		target, err := r.target(n, ref.Value)
		if err != nil {
			return node{}, fmt.Errorf("$ref %q: %w", redactedReference(ref.Value), err)
		}
		n = target
	}
	return node{}, fmt.Errorf("$ref %q: more than %d references follow each other",
		redactedReference(n.get("$ref").Value), maxHops)
}

// follow is resolve for what is left out when its reference is broken.
func (r *resolver) follow(n node) node {
	n, _ = r.resolve(n)
	return n
}

func (r *resolver) target(from node, ref string) (node, error) {
	file, pointer, _ := strings.Cut(ref, "#")
	d := from.doc
	if file != "" {
		location, err := r.source.resolve(d.location, file)
		if err != nil {
			return node{}, err
		}
		if d, err = r.load(location, nil); err != nil {
			return node{}, err
		}
	}
	key := d.location + "#" + pointer
	if n, ok := r.targets[key]; ok {
		return n, nil
	}
	n, err := lookup(node{d, d.root}, pointer)
	if err == nil {
		r.targets[key] = n
	}
	return n, err
}

// lookup follows a JSON pointer in the form of a URL fragment.
func lookup(n node, pointer string) (node, error) {
	if pointer == "" || pointer == "/" {
		return n, nil
	}
	if pointer[0] != '/' {
		return node{}, fmt.Errorf("#%s is not a JSON pointer", pointer)
	}
	for word := range strings.SplitSeq(pointer[1:], "/") {
		word = strings.ReplaceAll(strings.ReplaceAll(word, "~1", "/"), "~0", "~")
		next := n.member(word)
		if next.Node == nil {
			if plain, err := url.PathUnescape(word); err == nil {
				next = n.member(plain)
			}
		}
		if next.Node == nil {
			return node{}, fmt.Errorf("there is no %q at %s", word, n.place())
		}
		n = next
	}
	return n, nil
}

// member returns a member of a mapping or an element of a list.
func (n node) member(word string) node {
	if n.isList() {
		if i, err := strconv.Atoi(word); err == nil && i >= 0 && i < len(n.Content) {
			return node{n.doc, n.Content[i]}
		}
		return node{}
	}
	return n.get(word)
}

// componentName returns the name of the schema that a reference names.
func componentName(ref string) string {
	ref, pointer, _ := strings.Cut(redactedReference(ref), "#")
	if pointer == "" {
		pointer = strings.TrimSuffix(path.Base(ref), path.Ext(ref))
	}
	return path.Base(pointer)
}
