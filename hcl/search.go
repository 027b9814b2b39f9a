package hcl

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Search is the search block of a toolset: its list of tools has the pinned ones and those that find and call the
// others.
type Search struct {
	Areas   string   // what can be found, for models
	Pinned  []string // the names of the tools that are listed
	Results int      // that a search finds unless it says otherwise
	Range   Range

	pins map[string]Range
}

// MaxSearchResults is how many tools a search finds at most.
const MaxSearchResults = 10

const (
	maxSearchAreas     = 400 // characters: every client has them in its list of tools
	defaultSearchFinds = 5
)

// IsPinned reports whether a tool is listed. Without a search block every tool is.
func (s *Search) IsPinned(tool string) bool { return s == nil || slices.Contains(s.Pinned, tool) }

// Sentence returns the areas as a sentence.
func (s *Search) Sentence() string {
	areas := strings.TrimSpace(s.Areas)
	if strings.HasSuffix(areas, ".") {
		return areas
	}
	return areas + "."
}

func (s *Search) spec(known exposedNames) decode.Spec {
	s.Results, s.pins = defaultSearchFinds, map[string]Range{}
	return decode.Spec{
		decode.Attr(&s.Areas, "areas", "What can be found, in a sentence of at most 400 characters, such as "+
			"\"Invoices, orders and customers.\" A model that does not know what is hidden does not search.").
			Require().Check(s.checkAreas),
		decode.StringSet(&s.Pinned, "pinned", "list of names", "The names of tools that are listed as without "+
			"search, because most tasks use them.", func(d *decode.Decoder, r Range, name string) string {
			d.NoteReference(eval.Reference{At: r, Kind: "tool", Name: name})
			if s.pins[name] = r; strings.Contains(name, "*") {
				d.Diags.Errorf(r, "Pattern not allowed", "Each pinned tool is named, so that a new tool does not "+
					"become part of every list: %q is a pattern.", name)
				return name
			}
			known.check(&d.Diags, "tools", name, r)
			return name
		}),
		decode.Attr(&s.Results, "results", "The number of tools that a search finds unless it asks for another one, "+
			"from 1 to 10.").DefaultDoc("5").
			Check(func(d *decode.Decoder, r Range) { checkRange(d, r, "results", s.Results, MaxSearchResults) }),
	}
}

func (s *Search) checkAreas(d *decode.Decoder, r Range) {
	switch n := utf8.RuneCountInString(s.Areas); {
	case strings.TrimSpace(s.Areas) == "":
		d.Diags.Errorf(r, "Empty areas", "areas says what can be found. Write areas = \"Invoices, orders and "+
			"customers.\"")
	case n > maxSearchAreas:
		d.Diags.Errorf(r, "Text too long", "areas has %d characters, and every client has it in its list: write at "+
			"most %d.", n, maxSearchAreas)
	}
}

// searchField declares the search block of a toolset.
func (t *Toolset) searchField(known exposedNames) decode.Field {
	spec := func(s *Search) decode.Spec { return s.spec(known) }
	return decode.Block(&t.Search, "search", "Replaces the tools in the list of the toolset by tools that find and "+
		"call them, for clients that cannot search a long list themselves.", spec)
}

// checkSearch checks the search block of a toolset, whose lists are decoded.
func (l *loader) checkSearch(t *Toolset) {
	s := t.Search
	if len(t.Tools) == 0 {
		l.diags.Errorf(s.Range, "Nothing to search", "The toolset has no tools that a search could find. Name them: "+
			"tools = [\"*\"].")
		return
	}
	for _, name := range s.Pinned {
		at, declared := s.pins[name], l.tools[name]
		switch {
		case strings.Contains(name, "*"), declared == nil: // which was reported, or is not known
		case !t.HasTool(name):
			l.diags.Errorf(at, "Tool of another toolset", "The toolset %q does not have the tool %q. Add it to tools, "+
				"or leave it out here.", t.Name, name)
		case !declared.tool.Listed:
			l.diags.Errorf(at, "Tool not listed", "%q has listed = false, so that no client sees it.", name)
		}
	}
	for _, tool := range l.config.Tools {
		if t.HasTool(tool.Name) && tool.Listed && HasHeaderInputs(tool.Input) && !s.IsPinned(tool.Name) {
			const text = "The tool %q has inputs that clients repeat in headers, which they cannot do through %s and " +
				"%s. Pin it."
			l.diags.Warnf(s.Range, "Tool not found by search", text, tool.Name, ReadTool, CallTool)
		}
	}
}

// checkSearchNames reports tools that have the names of those that search blocks add.
func (l *loader) checkSearchNames() {
	i := slices.IndexFunc(l.config.Toolsets, func(t *Toolset) bool { return t.Search != nil })
	if i < 0 {
		return
	}
	for _, name := range searchToolNames {
		if tool, ok := l.tools[name]; ok {
			l.diags.Errorf(tool.tool.Range, "Reserved tool name", "The search block of the toolset %q needs the names "+
				"%s. Rename this tool.", l.config.Toolsets[i].Name, strings.Join(searchToolNames, ", "))
		}
	}
}

// HasHeaderInputs reports whether clients repeat an input of this type, or a part of it, in a header.
func HasHeaderInputs(t *schema.Type) bool {
	return slices.ContainsFunc(t.Members, func(m *schema.Member) bool {
		return m.Type.Header != "" || m.Type.Kind == schema.Object && HasHeaderInputs(m.Type)
	})
}

// explainSearchTool returns why a rule cannot name a tool of search blocks; empty for another name.
func explainSearchTool(name string) string {
	if !slices.Contains(searchToolNames, name) {
		return ""
	}
	return fmt.Sprintf("%s belongs to search blocks. Rules and lists name the tools that are called through it: a "+
		"call is judged, limited, approved and recorded as one of these.", name)
}
