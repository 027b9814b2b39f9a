package editor

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
	"hatchel/hcl/syntax"
)

// mark is the name that stands at the cursor while a block is decoded again.
const mark = "zzCursorOfAnEditor"

// finding is what the decoding of a block says about the cursor.
type finding struct {
	block    *hclsyntax.Block // whose body the cursor is in, if parts is set
	parts    []decode.Spec    // what may be written in this body
	place    *eval.Place      // in an expression
	names    []string         // what a name at the cursor may be
	argument *decode.Field    // whose value the cursor is in
}

// maxRead is how many bytes are decoded for a completion, unless the first text is longer.
const maxRead = 512 << 10

func (f *finding) isExact() bool { return f.parts != nil || f.place != nil || f.names != nil }

// probe decodes the block around the cursor with a mark in place of the word there. Text that is not complete is
// completed in several ways, of which the first counts that reaches the cursor.
func probe(cfg *hcl.Config, c *cursor) *finding {
	best, read := &finding{}, 0
	for _, text := range c.repairs() {
		if read += len(text); read > maxRead && read > len(text) {
			break
		}
		f := decodeMarked(cfg, []byte(text), c.from-c.region.From)
		if f.isExact() {
			return f
		}
		if best.argument == nil {
			best = f
		}
	}
	return best
}

// decodeMarked decodes a block with a mark at an offset.
func decodeMarked(cfg *hcl.Config, src []byte, offset int) *finding {
	f := &finding{}
	body, _ := syntax.Parse("", src)
	if len(body.Blocks) == 0 {
		return f
	}
	b := body.Blocks[0]
	for _, d := range decodeAgain(cfg, b, src, &cursorObserver{finding: f, offset: offset}) {
		if names := d.Names(); names != nil && d.Subject.Start.Byte <= offset && offset <= d.Subject.End.Byte {
			f.names = names
		}
	}
	return f
}

// cursorObserver finds what may be written at the mark, which is at an offset.
type cursorObserver struct {
	ignorer
	*finding
	offset int
}

// Body implements decode.Observer.
func (o *cursorObserver) Body(b *hclsyntax.Block, parts []decode.Spec) {
	if b.Body.Attributes[mark] != nil || decode.FindBlock(b.Body, mark) != nil {
		o.block, o.parts = b, parts
	}
}

// Argument implements decode.Observer.
func (o *cursorObserver) Argument(f decode.Field, value hclsyntax.Expression) {
	if r := value.Range(); r.Start.Byte <= o.offset && o.offset <= r.End.Byte {
		o.argument = &f
	}
}

// Name implements eval.Observer.
func (o *cursorObserver) Name(name string, place func() eval.Place) {
	if name == mark {
		found := place()
		o.place = &found
	}
}

func decodeAgain(cfg *hcl.Config, b *hclsyntax.Block, src []byte, o decode.Observer) hcl.Diagnostics {
	if b.Type != "test" && b.Type != "search_test" {
		return cfg.DecodeAgain(b, src, o)
	}
	if cfg.NewTestDecoder == nil || len(b.Labels) != 1 {
		return nil
	}
	probed := *cfg
	probed.Partial = false
	probed.NewTestDecoder = func(b hcl.TestBlock) *decode.Decoder {
		d := cfg.NewTestDecoder(b)
		env := *d.Env
		env.TrustDeclared = true
		d.Env, d.Observer = &env, o
		return d
	}
	_, diags := testblock.Decode(&probed, []hcl.TestBlock{{Block: b, Src: src}})
	return diags
}

// repairs returns texts of the block around the cursor with a mark in place of the word there: as it is, and with what
// is open at the cursor closed.
func (c *cursor) repairs() (texts []string) {
	before := string(c.src[c.region.From:c.from]) + mark
	rest := string(c.src[c.to:c.region.To])
	if c.atDefinition() && isWholeDefinition(c.after()) {
		texts = append(texts, before+rest)
	} else if c.atDefinition() {
		before += " = null"
	}
	below := ""
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		below = rest[i:]
	}
	texts = append(texts, before+rest)
	if c.inText() {
		texts = append(texts, before+closeProgram(c.program())+c.restAfterText())
	}
	start := bytes.LastIndexByte(c.src[:c.from], '\n') + 1
	var ofLine, ofArgument, all strings.Builder
	for i := len(c.open) - 1; i >= 0; i-- {
		f := c.open[i]
		text := closers[f.kind]
		if f.kind == frameHeredoc {
			text = "\n" + f.marker + "\n"
		}
		if f.from >= start {
			ofLine.WriteString(text)
		}
		if f.kind != frameBody && all.Len() == ofArgument.Len() {
			ofArgument.WriteString(text)
		}
		all.WriteString(text)
	}
	for _, end := range []string{ofLine.String() + below, ofArgument.String() + below, all.String()} {
		texts = append(texts, before+end, before+" : null"+end)
	}
	return texts
}

// atDefinition reports whether the word at the cursor begins an argument or a block.
func (c *cursor) atDefinition() bool {
	line := strings.TrimSpace(c.line())
	return c.top().kind == frameBody && (line == "" || strings.HasSuffix(line, "{"))
}

// isWholeDefinition reports whether a text makes an argument or a block of the name before it.
func isWholeDefinition(after string) bool {
	after = strings.TrimSpace(after)
	return strings.HasPrefix(after, "=") && len(after) > 1 || strings.HasPrefix(after, `"`) ||
		strings.HasPrefix(after, "{")
}

// program returns the text around the cursor, up to the cursor.
func (c *cursor) program() string { return string(c.src[min(c.top().from+1, c.from):c.from]) }

// restAfterText returns the rest of the block from the end of the text around the cursor.
func (c *cursor) restAfterText() string {
	rest := c.src[c.to:c.region.To]
	if c.top().kind == frameHeredoc {
		if end := heredocEnd(c.src, c.from, c.top().marker); end >= 0 && end <= c.region.To {
			return "\n" + string(c.src[end:c.region.To])
		}
		return "\n" + c.top().marker + "\n"
	}
	for i, b := range rest {
		if b == '\n' {
			return `"` + string(rest[i:])
		}
		if b == '"' && (i == 0 || rest[i-1] != '\\') {
			return string(rest[i:])
		}
	}
	return `"`
}

// closeProgram returns what closes the brackets and texts that are open at the end of an expr program.
func closeProgram(src string) string {
	var open []byte
	questions := 0
	for i := 0; i < len(src); i++ {
		switch b := src[i]; b {
		case '\'', '`':
			if j := strings.IndexByte(src[i+1:], b); j >= 0 {
				i += j + 1
			} else {
				return string(b) + closeProgram(src[:i])
			}
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case '{':
			open = append(open, '}')
		case ')', ']', '}':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case '?':
			if i+1 < len(src) && (src[i+1] == '?' || src[i+1] == '.') {
				i++
			} else {
				questions++
			}
		case ':':
			questions = max(0, questions-1)
		}
	}
	end := strings.Repeat(" : null", questions)
	for i := len(open) - 1; i >= 0; i-- {
		end += string(open[i])
	}
	return end
}
