package client

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/mcpheader"
)

// MirroredArguments returns the arguments that an input schema, a JSON object, repeats in headers. The error tells
// why an x-mcp-header is not accepted.
func MirroredArguments(inputSchema []byte) ([]MirroredArgument, error) {
	var list []MirroredArgument
	err := findMirrored(inputSchema, nil, &list)
	return list, err
}

// findMirrored adds the arguments below a path.
func findMirrored(schema []byte, path []string, list *[]MirroredArgument) error {
	properties, ok := jsonscan.Lookup(schema, "properties")
	if !ok || len(path) == MaxDepth {
		return nil
	}
	var problem error
	err := jsonscan.Members(properties, MaxDepth, func(key, value []byte) bool {
		below := append(slices.Clip(path), string(key))
		if header, ok := jsonscan.Lookup(value, "x-mcp-header"); ok {
			problem = addMirroredArgument(header, value, below, list)
		}
		if problem == nil {
			problem = findMirrored(value, below, list)
		}
		return problem == nil
	})
	if problem != nil {
		return problem
	}
	return err
}

func addMirroredArgument(header, schema []byte, path []string, list *[]MirroredArgument) error {
	argument := strings.Join(path, ".")
	name, _ := jsonscan.Text(header)
	if !mcpheader.IsName(name) {
		return fmt.Errorf("x-mcp-header of %q is no name of a header", argument)
	}
	switch kind, _ := jsonscan.LookupText(schema, "type"); kind {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%q has x-mcp-header, and is no string, integer or boolean", argument)
	}
	m := MirroredArgument{Header: http.CanonicalHeaderKey("Mcp-Param-" + name), Path: path}
	if slices.ContainsFunc(*list, func(other MirroredArgument) bool { return other.Header == m.Header }) {
		return fmt.Errorf("two arguments have the x-mcp-header %q", name)
	}
	*list = append(*list, m)
	return nil
}

// addMirrored adds the headers that repeat arguments of a call. An absent argument has none.
func addMirrored(header http.Header, r *Request) {
	for _, m := range r.Mirrored {
		value, ok := jsonscan.Lookup(r.Arguments, m.Path...)
		if !ok {
			continue
		}
		if text, ok := headerValue(value); ok {
			header[m.Header] = []string{text}
		}
	}
}

// headerValue returns a raw string, boolean or integer as the value of a header. It reports false for any other.
func headerValue(value []byte) (string, bool) {
	switch value[0] {
	case '"':
		text, _ := jsonscan.Text(value)
		return mcpheader.Encode(text), true
	case 't', 'f':
		return string(value), true
	case '{', '[', 'n':
		return "", false
	}
	const maxExact = 1<<53 - 1
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxExact {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}
