package editor

import (
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/internal/lazyregexp"
)

// Completions are what may be written in place of a span of bytes: first what begins with the text that is there, then
// what is required, and then in the order of the reference.
type Completions struct {
	Span
	Items []Item
	Cut   bool // there are more
}

// Item is one text that may be written.
type Item struct {
	Label   string
	Kind    ItemKind
	Detail  string // its type or its form
	Doc     string // a text of Markdown
	Insert  string // the text; ${1:name} and $0 are places to fill in if Snippet is set
	Snippet bool
}

// place is a place to fill in, or an escaped dollar sign.
var place = lazyregexp.New(`\$\{\d+:([^{}]*)\}|\$\{\d+\|([^,|]*)[^}]*\}|\$\d+|\\(\$)`)

// Plain returns the text with what stands at its places, for editors that cannot fill them in.
func (i *Item) Plain() string {
	if !i.Snippet {
		return i.Insert
	}
	return place.ReplaceAllString(i.Insert, "$1$2$3")
}

// ItemKind says what an item is, so that editors show it with their symbol.
type ItemKind int

const (
	ItemArgument ItemKind = iota
	ItemBlock
	ItemValue // a word that an argument takes, or the name of a declaration
	ItemReference
	ItemMember
	ItemFunction
	ItemType
	ItemTable
	ItemColumn
	ItemKeyword
	ItemSnippet
)

// maxItems bounds an answer; a root can have thousands of members.
const maxItems = 200

// completion is one request.
type completion struct {
	*Language
	*cursor
	cfg     *hcl.Config
	finding *finding
	tables  *Tables
	items   []Item
}

// Complete returns what may be written at an offset of a file, whose text need not be complete. Config is the last one
// that was loaded with hcl.Options.Observe, which should not be Partial; tables may be nil.
func (l *Language) Complete(cfg *hcl.Config, src []byte, offset int, tables *Tables) Completions {
	c := &completion{Language: l, cursor: readCursor(src, offset, l.topLevel), cfg: cfg, tables: tables}
	if c.inComment {
		return Completions{Span: Span{c.from, c.to}}
	}
	if c.region.To == 0 {
		c.addTopLevel()
		return c.result()
	}
	if cfg == nil || cfg.DecodeAgain == nil {
		return c.result()
	}
	c.finding = probe(cfg, c.cursor)
	switch f := c.finding; {
	case f.parts != nil && c.atDefinition():
		c.addFields()
	case f.place != nil:
		c.addPlace(f.place)
	case f.names != nil && slices.Contains(f.names, "jsonencode"), f.argument != nil && c.isPipe(f.argument):
		c.addFunctions(c.inText())
	case f.names != nil:
		c.addNames(f.names)
	case f.argument != nil:
		c.addArgument(f.argument)
	}
	return c.result()
}

// IsInvited reports whether a character that was typed right before an offset asks for completion there: a quote that
// opens a text, a brace that opens ${, or another character than these.
func (l *Language) IsInvited(src []byte, offset int, typed string) bool {
	c := readCursor(src, offset, l.topLevel)
	switch typed {
	case `"`, "'":
		return c.inText()
	case "{":
		return c.top().kind == frameInterpolation
	}
	return true
}

// result returns the items. Those that begin with what is written come before all others.
func (c *completion) result() Completions {
	prefix := strings.ToLower(string(c.src[c.from:c.offset]))
	begins := func(i Item) bool { return strings.HasPrefix(strings.ToLower(i.Label), prefix) }
	items := slices.Concat(filter(c.items, begins), filter(c.items, func(i Item) bool { return !begins(i) }))
	return Completions{Span{c.from, c.to}, items[:min(len(items), maxItems)], len(items) > maxItems}
}

func filter(items []Item, keep func(Item) bool) (kept []Item) {
	for _, i := range items {
		if keep(i) {
			kept = append(kept, i)
		}
	}
	return kept
}

func (c *completion) add(i Item) {
	if i.Insert == "" {
		i.Insert = i.Label
	}
	c.items = append(c.items, i)
}

// isPipe reports whether a function is expected in a program whose text cannot be parsed, as after a pipe.
func (c *completion) isPipe(f *decode.Field) bool {
	before := strings.TrimRight(string(c.src[c.region.From:c.from]), " ")
	return strings.HasPrefix(f.Type, "expr") && c.inText() &&
		(strings.HasSuffix(before, "|") || strings.HasPrefix(c.after(), "("))
}

// needsParts are the types that consist of others, with places for these.
var needsParts = map[string]string{"list": "${0:string}", "set": "${0:string}", "map": "${0:string}",
	"object": "{\n  $0\n}", "enum": `"$0"`, "optional": "${0:string}", "nullable": "${0:string}", "one_of": "$0"}

// addNames adds the names of which one is expected at the cursor.
func (c *completion) addNames(names []string) {
	inText := c.inText()
	if inText {
		c.widenToText()
	}
	call := strings.HasPrefix(c.after(), "(")
	for _, name := range names {
		item := Item{Label: name, Kind: ItemValue}
		if c.finding.argument != nil && c.finding.argument.Type == "type" && !inText {
			item.Kind = ItemType
			if needsParts[name] != "" && !call {
				item.Insert, item.Snippet = name+"("+needsParts[name]+")", true
			}
		}
		if !inText && isObjectKey(c.top().kind) && !strings.HasPrefix(strings.TrimSpace(c.after()), "=") {
			item.Insert = name + " = "
		}
		c.add(item)
	}
}

func isObjectKey(k frameKind) bool { return k == frameObject }

// widenToText makes the span that is replaced the whole text between its quotes.
func (c *completion) widenToText() {
	isPart := func(b byte) bool { return b != '"' && b != '\'' && b != '\n' && b != '`' && b != ',' }
	for c.from > 0 && isPart(c.src[c.from-1]) {
		c.from--
	}
	for c.to < len(c.src) && isPart(c.src[c.to]) {
		c.to++
	}
}

// addArgument adds what an argument takes that is no expression.
func (c *completion) addArgument(f *decode.Field) {
	switch {
	case f.Type == "SQL" && c.inText():
		c.addSQL()
	case f.Type == "bool" && !c.inText():
		c.addNames([]string{"true", "false"})
	}
}
