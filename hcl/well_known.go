package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

const (
	maxWellKnown     = 32      // entries
	maxWellKnownText = 4 << 10 // bytes
)

var wellKnownName = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,3}$`)

// ownWellKnown begin the names below /.well-known/ that the server answers by itself.
var ownWellKnown = []string{"oauth-", "openid-", "ai-catalog.json", "mcp"}

// wellKnownField declares the argument well_known: texts below /.well-known/ by their names.
func (s *Server) wellKnownField() decode.Field {
	return decode.Custom("well_known", "map of strings", "Texts that GET /.well-known/<name> answers to everybody, as "+
		"in { \"openai-apps-challenge\" = var.challenge }, by which directories and clients verify who has a name.",
		func(d *decode.Decoder, e hclsyntax.Expression) {
			n := d.CompileKnown(e, decode.Field{Name: "well_known"})
			texts, ok := n.Value.(map[string]any)
			if !n.Known {
				return
			}
			if !ok {
				d.Errorf(e.Range(), "Wrong type", "well_known takes a map of strings, not %s.",
					eval.ValuePhrase(n.Value))
				return
			}
			if len(texts) > maxWellKnown {
				d.Errorf(e.Range(), "Too many texts", "well_known has at most %d entries, not %d.", maxWellKnown,
					len(texts))
				return
			}
			s.WellKnown = map[string]string{}
			for _, name := range diag.SortedNames(texts) {
				s.addWellKnown(d, e, name, texts[name])
			}
		})
}

// addWellKnown adds one text.
func (s *Server) addWellKnown(d *decode.Decoder, e hclsyntax.Expression, name string, v any) {
	text, ok := v.(string)
	key, at := rangesOfPair(d, e, name)
	isOwn := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case !ok:
		d.Errorf(at, "Wrong type", "well_known takes a map of strings, and %q is %s.", name, eval.ValuePhrase(v))
	case !wellKnownName.MatchString(name):
		d.Errorf(key, "Invalid name", "%q is no name below /.well-known/: write letters, digits, _, - and ., "+
			"with up to 3 slashes, as in \"openai-apps-challenge\".", name)
	case slices.ContainsFunc(ownWellKnown, isOwn):
		d.Errorf(key, "Reserved name", "/.well-known/%s is answered by the server itself, or is kept for it.",
			name)
	case text == "" || len(text) > maxWellKnownText:
		d.Errorf(at, "Invalid text", "The text of %q has 1 to %d bytes, not %d.", name, maxWellKnownText,
			len(text))
	}
	s.WellKnown[name] = text
}
