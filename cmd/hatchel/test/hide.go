package test

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl/value"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
)

// Secret is a text that no output and no tape holds. Name is what replaces it in a tape, such as "secret.token"; it is
// empty for one without a name.
type Secret struct {
	Name, Text string
	Mark       string // in place of that of its name; empty for that
}

// marker is what a tape has in place of a secret.
func marker(name string) string { return "{{" + cmp.Or(name, "secret") + "}}" }

// mark is what a tape has in place of the secret.
func (s Secret) mark() string { return cmp.Or(s.Mark, marker(s.Name)) }

// hider replaces secrets, in all forms in which they are sent, by their markers, and what differs on each machine: the
// configuration directory and those of uploaded files.
type hider struct {
	replacer *strings.Replacer
	dir      string
}

func newHider(secrets []Secret, dir string) *hider {
	type pair struct{ form, marker string }
	var pairs []pair
	for _, s := range secrets {
		if len(s.Text) < adapters.MinSecretLength || strings.Contains(s.Text, marker("")) {
			continue
		}
		for _, form := range scrub.Forms(s.Text) {
			mark := s.mark()
			if !strings.Contains(form, s.Text) { // encoded, perhaps with what is before and after it
				mark = encodedMark + mark + encodedMark
			}
			pairs = append(pairs, pair{form, mark}, pair{lowerEscapes(form), mark})
		}
		pairs = append(pairs, pair{strings.ToUpper(hex.EncodeToString([]byte(s.Text))), s.mark()})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.form) - len(a.form) })
	list := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		list = append(list, p.form, p.marker)
	}
	return &hider{strings.NewReplacer(list...), dir}
}

var escapes = lazyregexp.New(`%[0-9A-F]{2}`)

// lowerEscapes returns an escaped text with the other case of its escapes.
func lowerEscapes(text string) string { return escapes.ReplaceAllStringFunc(text, strings.ToLower) }

func (h *hider) text(text string) string {
	text = h.replacer.Replace(text)
	if strings.Contains(text, encodedMark) {
		text = encodedRuns.ReplaceAllString(text, "$1")
	}
	if len(h.dir) > 1 {
		text = strings.ReplaceAll(text, h.dir+"/", "{{dir}}/")
	}
	return stagedFile.ReplaceAllString(text, "{{upload}}/")
}

// stagedFile matches the directory of an uploaded file, which differs in each call.
var stagedFile = lazyregexp.New(`[^\s*]*/hatchel-files-\d+/\w+/\w+/`)

// encodedMark surrounds the markers of encoded secrets until the characters around them are removed, which may encode a
// part of the secret, too.
const encodedMark = "\x00"

var encodedRuns = lazyregexp.New(`[A-Za-z0-9+/_=-]*\x00(\{\{[A-Za-z0-9_.-]+\}\}(?:-[0-9]+)?)\x00[A-Za-z0-9+/_=-]*`)

// value returns a value without secrets. A number that is one becomes a text.
func (h *hider) value(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return h.text(v)
	}
	if text, err := value.Text(v); err == nil && h.text(text) != text {
		return h.text(text)
	}
	return v
}

// members returns an object without secrets.
func (h *hider) members(v map[string]any) map[string]any {
	out, _ := h.deep(v).(map[string]any)
	return out
}

func (h *hider) deep(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			if e = h.deep(e); credential.IsName(key) {
				e = hideCredential(e)
			}
			out[h.text(key)] = e
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = h.deep(e)
		}
		return out
	}
	return h.value(v)
}

// hideCredential returns a credential without what is not yet hidden of it.
func hideCredential(v any) any {
	switch v := v.(type) {
	case string:
		if scheme, rest, ok := strings.Cut(v, " "); ok && authSchemes[strings.ToLower(scheme)] {
			if isMarker(rest) {
				return v
			}
			return scheme + " " + marker("")
		}
		if isMarker(v) || v == "" {
			return v
		}
		return marker("")
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = hideCredential(e)
		}
		return out
	}
	return v
}

var authSchemes = map[string]bool{"bearer": true, "basic": true, "digest": true, "token": true, "negotiate": true}

var wholeMarker = lazyregexp.New(`^\{\{[A-Za-z0-9_.-]+\}\}$`)

func isMarker(text string) bool { return wholeMarker.MatchString(text) }

// credentials appends the credentials in a value that have names of credentials.
func credentials(dst []Secret, v any, named bool) []Secret {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range value.Keys(v) {
			dst = credentials(dst, v[key], credential.IsName(key))
		}
	case []any:
		for _, e := range v {
			dst = credentials(dst, e, named)
		}
	case string:
		if scheme, rest, ok := strings.Cut(v, " "); ok && authSchemes[strings.ToLower(scheme)] {
			v = rest
		}
		if named && len(v) >= minKept {
			dst = append(dst, Secret{Text: v})
		}
	}
	return dst
}

// minKept is the length in bytes from which a secret must not be anywhere in a tape. A shorter one is replaced, and may
// occur by chance.
const minKept = 8

// maxUnwrapped is how many encodings around a secret are removed to find it.
const maxUnwrapped = 3

// maxUnwrappedSize is the size in bytes of a text from which one encoding is removed only.
const maxUnwrappedSize = 256 << 10

// holds returns the first of the secrets that a text has, in it or in what it encodes.
func holds(text string, secrets []Secret, depth int) (Secret, bool) {
	for _, s := range secrets {
		if len(s.Text) >= minKept && !strings.Contains(s.Text, marker("")) && strings.Contains(text, s.Text) {
			return s, true
		}
	}
	if depth == 0 || len(text) > maxUnwrappedSize && depth < maxUnwrapped {
		return Secret{}, false
	}
	for _, inner := range unwrap(text) {
		if s, found := holds(inner, secrets, depth-1); found {
			return s, true
		}
	}
	return Secret{}, false
}

var (
	base64Runs  = lazyregexp.New(`[A-Za-z0-9+/_-]{8,}(\r?\n[A-Za-z0-9+/_-]+)*`)
	hexRuns     = lazyregexp.New(`[0-9A-Fa-f]{16,}`)
	jsonEscapes = lazyregexp.New(`\\(u[0-9A-Fa-f]{4}|["\\/bfnrt])`)
)

// unwrap returns what a text encodes: with percent signs, as JSON, in base64 and in hexadecimal.
func unwrap(text string) (out []string) {
	add := func(inner string) {
		if inner != text && inner != "" {
			out = append(out, inner)
		}
	}
	if strings.ContainsAny(text, "%+") {
		add(percent.ReplaceAllStringFunc(text, func(code string) string {
			b, _ := hex.DecodeString(code[1:])
			return string(b)
		}))
		if plain, err := url.QueryUnescape(text); err == nil {
			add(plain)
		}
	}
	if strings.Contains(text, `\`) {
		add(jsonEscapes.ReplaceAllStringFunc(text, func(code string) string {
			v, err := value.Decode([]byte(`"` + code + `"`))
			if plain, ok := v.(string); ok && err == nil {
				return plain
			}
			return code
		}))
	}
	var runs strings.Builder
	for _, run := range base64Runs.FindAllString(text, -1) {
		run = strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/").Replace(run)
		for offset := range 4 {
			if tail := run[min(offset, len(run)):]; len(tail) >= 4 {
				b, _ := base64.RawStdEncoding.DecodeString(tail[:len(tail)-tailless(len(tail))])
				runs.Write(b)
				runs.WriteByte('\n')
			}
		}
	}
	add(runs.String())
	runs.Reset()
	for _, run := range hexRuns.FindAllString(text, -1) {
		for offset := range 2 {
			b, _ := hex.DecodeString(run[offset : len(run)-(len(run)-offset)%2])
			runs.Write(b)
			runs.WriteByte('\n')
		}
	}
	add(runs.String())
	return out
}

var percent = lazyregexp.New(`%[0-9A-Fa-f]{2}`)

// tailless returns how many characters at the end of so many of base64 are no whole byte.
func tailless(n int) int {
	if n%4 == 1 {
		return 1
	}
	return 0
}
