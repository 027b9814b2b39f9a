// Package openapi turns OpenAPI documents into tools. Its reader is lenient: it resolves only what the selected
// operations reach, and a mistake of the document costs the operation that reaches it, not the import.
package openapi

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
)

// Options select what of a document is imported, and how.
type Options struct {
	Source     string    // a file, a URL, or "-" for Stdin
	Stdin      io.Reader // read once, for "-"
	Root       string    // the directory that references of files may not leave; by default that of the document
	AllowHosts []string  // that references may name besides the host of the document; they may have private addresses

	Name                      string // of the connection and the prefix of secrets; by default from the title
	Tags, Paths, Ops, Methods []string
	NotTags, NotPaths, NotOps []string
	ReadOnly, Deprecated, All bool

	Flatten    int  // members up to which those of a JSON body are inputs
	Depth      int  // levels of a schema
	MaxSchema  int  // bytes of the input schema of a tool
	MaxTokens  int  // of all tools, without a selection
	MaxTools   int  // likewise
	Returns    bool // also the types of results
	NoPaginate bool
	OneFile    bool              // instead of one for each tag
	Rename     map[string]string // names of tools

	// Recall returns the options to continue with when the name of the import is known; it may be nil.
	Recall func(source string) (Options, error)
	// OtherTypes returns the names of types that other imports have taken; it may be nil.
	OtherTypes func(source string) (importer.Names, error)
	// Check loads the files that would be written, by name, and returns mistakes with their places.
	Check func(files map[string][]byte) ([]importer.Mistake, error)
}

// Defaults returns the options of an import without flags.
func Defaults() Options {
	return Options{Flatten: 12, Depth: 6, MaxSchema: 8 << 10, MaxTokens: importer.MaxTokens,
		MaxTools: importer.MaxTools}
}

// generator holds one import.
type generator struct {
	Options
	schemas    *schemaReader
	doc        node
	version2   bool
	result     *importer.Result
	operations []*operation
	matched    int // operations that the flags select
	collected  int // losses before the tools were made
	otherTypes importer.Names

	parameterUses map[[2]string]int // in how many operations a parameter is; nil until it was asked
	connections   *connections
	typeWriter
	typeNodes []*tree // the components of type blocks, in the order of their names
}

// Import reads a document and generates its tools. A *TooMany error lists what could be selected.
func Import(ctx context.Context, o Options) (*importer.Result, error) {
	s, location, err := openSource(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := newResolver(s)
	var stdin io.Reader
	if o.Source == "-" {
		stdin = o.Stdin
	}
	d, err := r.load(location, stdin)
	if err != nil {
		return nil, err
	}
	g := &generator{Options: o, doc: node{d, d.root},
		schemas: &schemaReader{r, map[*yaml.Node]*schema{}, map[*yaml.Node]*schema{}}, result: new(importer.Result)}
	g.named = map[typeKey]string{}
	if err := g.checkVersion(); err != nil {
		return nil, fmt.Errorf("%s: %w", Redacted(location), err)
	}
	if g.Name == "" {
		g.Name = g.nameOfDocument()
	}
	g.result.Source = SourceName(g.Name)
	if o.Recall != nil {
		name := g.Name
		if g.Options, err = o.Recall(g.result.Source); err != nil {
			return nil, err
		}
		g.Name = name
	}
	g.Name = importer.Identifier(g.Name)
	if o.OtherTypes != nil {
		if g.otherTypes, err = o.OtherTypes(g.result.Source); err != nil {
			return nil, err
		}
	}
	g.result.Digest = "sha256:" + hex.EncodeToString(d.digest[:12])
	g.connections = newConnections(g)
	g.collect()
	if len(g.operations) == 0 {
		return nil, fmt.Errorf("%s: no operation is selected: %s", Redacted(location), g.unselectedText())
	}
	g.collected = len(g.result.Losses)
	g.nameOperations()
	g.build()
	if err := g.checkSize(); err != nil {
		return nil, err
	}
	if err := g.write(); err != nil {
		return nil, err
	}
	return g.result, nil
}

// SourceName returns the name of the import whose connection has a name.
func SourceName(name string) string { return "openapi " + importer.Identifier(name) }

// checkVersion accepts the major versions that the reader knows, and a document with paths that names none.
func (g *generator) checkVersion() error {
	openapi, swagger := g.doc.get("openapi"), g.doc.get("swagger")
	switch {
	case !g.doc.isMap():
		return errors.New("it is not an OpenAPI document: it has no members")
	case majorVersion(swagger) == "2":
		g.version2 = true
	case swagger.exists():
		return unsupportedVersion("Swagger", swagger)
	case openapi.exists() && majorVersion(openapi) != "3":
		return unsupportedVersion("OpenAPI", openapi)
	case !openapi.exists() && !g.doc.has("paths"):
		return errors.New("it is not an OpenAPI document: neither openapi nor swagger is set")
	}
	return nil
}

func majorVersion(n node) string {
	major, _, _ := strings.Cut(n.text(), ".")
	return major
}

func unsupportedVersion(format string, n node) error {
	return fmt.Errorf("version %.20q of %s in line %d is not supported; OpenAPI 3.x and Swagger 2.0 are",
		n.text(), format, n.line())
}

// generic are words of titles that name no service.
var generic = []string{"api", "apis", "rest", "restful", "http", "the", "a", "an", "openapi", "swagger",
	"specification",
	"spec", "service", "services", "server", "web", "public", "v1", "v2", "v3", "v4", "reference", "documentation",
	"docs", "definition", "oas", "of", "for", "and"}

// nameOfDocument derives a name from the title: its first word, or two short ones, that name a service.
func (g *generator) nameOfDocument() string {
	var name []string
	for _, word := range words(strings.NewReplacer("GitHub", "Github", "'s ", " ").Replace(
		g.doc.at("info", "title").text())) {
		if slices.Contains(generic, word) || strings.Trim(word, "0123456789") == "" {
			continue
		}
		if name = append(name, word); len(name) == 2 {
			break
		}
	}
	if len(name) == 0 {
		return "api"
	}
	if len(name) == 2 && len(name[0])+len(name[1]) > 16 {
		name = name[:1]
	}
	return strings.Join(name, "_")
}

// loser reports losses of a tool at a place.
func (g *generator) loser(op *operation, at node) func(kind, detail string) {
	return func(kind, detail string) { g.lose(op, kind, detail, at) }
}

// lose reports a loss of a tool.
func (g *generator) lose(op *operation, kind, detail string, at node) {
	g.result.Lose(op.label(), kind, detail, at.place())
}
