// Package mask turns the output of a backend into what a caller may see of it, as the mask blocks of the configuration
// say.
package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// Decide returns the masks that do not apply to the caller of a frame. A rule that fails does not lift its mask, and is
// told to report.
func Decide(masks []*hcl.Mask, frame *hcl.Frame, report func(*hcl.Mask, error)) (lifted []*eval.Mask) {
	for _, m := range masks {
		if m.Unless == nil {
			continue
		}
		switch sees, err := m.Unless.Eval(frame, nil); {
		case err != nil:
			report(m, err)
		case sees:
			lifted = append(lifted, m.Mask)
		}
	}
	return lifted
}

// Output returns the output of a backend to which masks apply, as the caller of the frame may see it. Parts without a
// masked member are shared with the output, which is not changed. The error is that of JSON that cannot be decoded.
func Output(b *hcl.Backend, frame *hcl.Frame, output any) (any, error) {
	w := walker{masks: applying(b, frame.Lifted), observe: frame.Masked}
	if len(w.masks) == 0 {
		return output, nil
	}
	members, ok := output.(map[string]any)
	if !ok {
		return output, nil
	}
	masked, err := w.object(members)
	if err != nil {
		return nil, err
	}
	for text, data := range b.Effects.TextOf {
		if _, ok := members[text]; ok && w.isChanged[data] {
			masked = withMember(masked, members, text, eval.MaskedText)
		}
	}
	return masked, nil
}

// applying returns the masks of a backend that apply to the caller.
func applying(b *hcl.Backend, lifted []*eval.Mask) []hcl.AppliedMask {
	return slices.DeleteFunc(slices.Clone(b.Masks), func(m hcl.AppliedMask) bool {
		return slices.Contains(lifted, m.Mask.Mask)
	})
}

// Texts returns a value without the texts that a scrubber knows, in every spelling. The value itself is not changed.
func Texts(v any, s *scrub.Scrubber) (any, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return s.Text(v), nil
	case []any:
		masked := slices.Clone(v)
		for i, e := range v {
			if masked[i], err = Texts(e, s); err != nil {
				return nil, err
			}
		}
		return masked, nil
	case map[string]any:
		masked := maps.Clone(v)
		for name, e := range v {
			if masked[name], err = Texts(e, s); err != nil {
				return nil, err
			}
		}
		return masked, nil
	}
	return v, nil
}

// walker masks one output.
type walker struct {
	masks     []hcl.AppliedMask // that apply to the caller
	path      []string          // of the current value
	isChanged map[string]bool   // the members of the output in which something was masked
	observe   func(given any)   // see eval.Frame.Masked
}

// rows masks rows without a copy of each, in the order of their columns.
func (w *walker) rows(rows adapters.Rows) (_ any, changed bool, err error) {
	c := newColumns(w, rows.Columns())
	masked, err := rows.WithCells(c.isMasked, c.mask)
	if err != nil || !c.changed {
		return rows, false, err
	}
	return masked, true, nil
}

// value returns a value with what is masked in it, and whether anything is.
func (w *walker) value(v any) (_ any, changed bool, err error) {
	switch v := v.(type) {
	case *adapters.Content:
		return w.content(v)
	case adapters.Rows:
		return w.rows(v)
	}
	if v, err = value.Resolve(v); err != nil {
		return nil, false, err
	}
	switch v := v.(type) {
	case map[string]any:
		masked, err := w.object(v)
		return masked, err == nil && !sameMap(masked, v), err
	case []any:
		return w.list(v)
	case string:
		return w.text(v)
	}
	return v, false, nil
}

func (w *walker) object(members map[string]any) (map[string]any, error) {
	masked := members
	for name, v := range members {
		w.path = append(w.path, name)
		other, changed, err := w.member(v)
		if err != nil {
			return nil, err
		}
		if w.path = w.path[:len(w.path)-1]; !changed {
			continue
		}
		masked = withMember(masked, members, name, other)
		if len(w.path) == 0 {
			if w.isChanged == nil {
				w.isChanged = map[string]bool{}
			}
			w.isChanged[name] = true
		}
	}
	return masked, nil
}

// member masks the member at the current path.
func (w *walker) member(v any) (_ any, changed bool, err error) {
	if m := w.strictest(); m != nil {
		if v, err = value.Resolve(v); v == nil || err != nil {
			return v, false, err // it holds nothing
		}
		return w.observed(replace(m, v)), true, nil
	}
	return w.value(v)
}

// observed tells the observer what stands in place of a value.
func (w *walker) observed(given any) any {
	if w.observe != nil {
		w.observe(given)
	}
	return given
}

// strictest returns the strictest mask of the member at the current path; nil for none.
func (w *walker) strictest() (found *hcl.Mask) {
	for _, m := range w.masks {
		if m.Matches(w.path) && (found == nil || m.With.IsStricter(found.With)) {
			found = m.Mask
		}
	}
	return found
}

func (w *walker) list(list []any) (_ any, changed bool, err error) {
	masked := list
	for i, e := range list {
		other, partly, err := w.value(e)
		if err != nil {
			return nil, false, err
		}
		if !partly {
			continue
		}
		if !changed {
			masked, changed = slices.Clone(list), true
		}
		masked[i] = other
	}
	return masked, changed, nil
}

// mayBeJSON reports whether a text begins as a JSON object or list does.
func mayBeJSON(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return text[i] == '{' || text[i] == '['
		}
	}
	return false
}

// text masks the members of a text that is a JSON object or list, such as a body that was read as text, and of its
// lines that are, such as those of a program that prints JSON Lines. Another line with the name of a masked member as
// JSON writes it has JSON in it that nobody can follow, such as a part of a document, and is masked as a whole.
func (w *walker) text(text string) (_ any, changed bool, err error) {
	if !mayHoldMember(text) {
		return text, false, nil
	}
	masked, changed, isJSON, err := w.document(text)
	if isJSON || err != nil {
		return masked, changed, err
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		bare := strings.TrimRight(line, "\r\n")
		masked, partly, isJSON, err := w.document(bare)
		if err != nil {
			return nil, false, err
		}
		if !isJSON && w.namesMember(bare) {
			masked, partly = eval.MaskedText, true
		}
		if partly {
			lines[i], changed = masked+line[len(bare):], true
		}
	}
	if !changed {
		return text, false, nil
	}
	return strings.Join(lines, ""), true, nil
}

// mayHoldMember reports whether a text may have a member of a JSON object.
func mayHoldMember(text string) bool { return strings.IndexByte(text, '"') >= 0 }

// namesMember reports whether a text has the name of a masked member as JSON writes it, also within a text of JSON, as
// in "email": and \"email\":, or as hstore of PostgreSQL does, as in "email"=>.
func (w *walker) namesMember(text string) bool {
	for {
		_, rest, found := strings.Cut(text, `"`)
		if !found {
			return false
		}
		name, after, _ := strings.Cut(rest, `"`)
		name = strings.TrimSuffix(name, `\`)
		after = strings.TrimLeft(after, " \t")
		isName := strings.HasPrefix(after, ":") || strings.HasPrefix(after, "=>")
		if isName && slices.ContainsFunc(w.masks, func(m hcl.AppliedMask) bool { return m.NamesMember(name) }) {
			return true
		}
		text = rest
	}
}

// document masks the members of a text that is one JSON object or list.
func (w *walker) document(text string) (_ string, changed, isJSON bool, err error) {
	if !mayBeJSON(text) {
		return text, false, false, nil
	}
	if c := jsonscan.FirstByte(text, value.MaxDepth); c != '{' && c != '[' {
		return text, false, false, nil
	}
	v, err := value.Decode([]byte(text))
	if err != nil { // a key stands twice, of which readers take either
		return eval.MaskedText, true, true, nil
	}
	masked, changed, err := w.value(v)
	if err != nil || !changed {
		return text, false, true, err
	}
	out, err := value.AppendJSON(nil, masked)
	return string(out), true, true, err
}

// content masks the texts of the answer of another MCP server.
func (w *walker) content(c *adapters.Content) (_ any, changed bool, err error) {
	masked := *c
	for i, b := range c.Blocks {
		if !b.IsText() {
			continue
		}
		text, partly, err := w.text(b.Text)
		if err != nil {
			return nil, false, err
		}
		if !partly {
			continue
		}
		if !changed {
			masked.Blocks, changed = slices.Clone(c.Blocks), true
		}
		masked.Blocks[i].Text = text.(string)
	}
	return &masked, changed, nil
}

// withMember returns the object with another member. Of the object as it was, a copy is changed.
func withMember(masked, original map[string]any, name string, v any) map[string]any {
	if sameMap(masked, original) {
		masked = maps.Clone(original)
	}
	masked[name] = v
	return masked
}

// sameMap reports whether two maps are one.
func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// hashes reports whether a mask gives hashes. Without its key, as in a test that reads no secrets, it hides.
func hashes(m *hcl.Mask) bool { return m.With == eval.MaskHash && len(m.Key) > 0 }

// replace returns what stands in place of a value.
func replace(m *hcl.Mask, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replace(m, e)
		}
		return out
	case map[string]any, value.Bytes:
		return nil
	case string:
		switch {
		case m.With == eval.MaskPartial:
			return partial(v)
		case hashes(m):
			return newHasher(m).text(v)
		}
		return eval.MaskedText
	case value.LazyJSON:
		if decoded, err := v.Value(); err == nil {
			return replace(m, decoded)
		}
		return nil
	}
	if hashes(m) {
		if text, err := value.Text(v); err == nil {
			return newHasher(m).text(text)
		}
	}
	return nil
}

// hashLength is how many characters of base32 a hash has: 80 bits.
const hashLength = 16

// hasher gives the same text for the same value of the same mask: the HMAC-SHA-256 of the name of the mask and of the
// value, under the key of the mask. Many values cost less by one hasher, which has done the work of the key.
type hasher struct {
	mac   hash.Hash
	input []byte // the name of the mask, and behind it the last value
	lead  int    // of input, before the value
	sum   [sha256.Size]byte
}

func newHasher(m *hcl.Mask) *hasher {
	input := append([]byte(m.Name), 0)
	return &hasher{mac: hmac.New(sha256.New, m.Key), input: input, lead: len(input)}
}

func (h *hasher) text(text string) string {
	h.input = append(h.input[:h.lead], text...)
	h.mac.Reset()
	h.mac.Write(h.input)
	sum := h.mac.Sum(h.sum[:0])
	out := [2 + hashLength]byte{'m', '_'}
	const bytes = hashLength * 5 / 8
	hashAlphabet.Encode(out[2:], sum[:bytes])
	return string(out[:])
}

// hashAlphabet is base32 in lower case.
var hashAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// stars stand for what partial leaves out. Their number tells nothing of it.
const stars = "***"

// partial returns a part of a text: of an address the first letter and the domain, of a number of an account, a card or
// a telephone the last four characters, of a longer text the last two.
func partial(text string) string {
	if local, domain, ok := strings.Cut(text, "@"); ok && isLocal(local) && isDomain(domain) {
		first := ""
		if len(local) > 2 {
			first = local[:1]
		}
		return first + stars + "@" + domain
	}
	digits := 0
	for i := range len(text) {
		if '0' <= text[i] && text[i] <= '9' {
			digits++
		}
	}
	runes := utf8.RuneCountInString(text)
	switch {
	case digits >= 8 && runes <= 40:
		return stars + lastRunes(text, 4)
	case runes >= 8:
		return stars + lastRunes(text, 2)
	}
	return eval.MaskedText
}

// lastRunes returns the last n characters of a text that has as many.
func lastRunes(text string, n int) string {
	at := len(text)
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}

// isDomain reports whether a text may stand behind the @ of an address.
func isDomain(text string) bool {
	return strings.Contains(text, ".") && !strings.ContainsAny(text, "@ \t\r\n")
}

// isLocal reports whether a text may stand before the @ of an address.
func isLocal(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return text != ""
}
