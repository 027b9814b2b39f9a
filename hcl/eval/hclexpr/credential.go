package hclexpr

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/internal/credential"
)

// A credential that the author wrote is refused where its value is known: as the value of a name of a credential, and
// as what a template or a function makes of literals. LiteralCredentials refuses those that one literal shows.

// literalCredential is the summary of the diagnostic of a credential that the author wrote.
const literalCredential = "Literal credential"

// schemes are those of the header Authorization before a credential.
var schemes = []string{"Bearer", "Basic", "Token"}

// refuseCredential reports a credential that the author wrote. Where says what it is the value of.
func (c *Compiler) refuseCredential(at hclv2.Range, where, name, text string) {
	label := c.secretLabel(name)
	variable := strings.ToUpper(label)
	use := fmt.Sprintf("and set env = { %s = secret.%s } for the program to read", variable, label)
	switch scheme, _, _ := strings.Cut(text, " "); {
	case c.inBaseURL:
		use = fmt.Sprintf("and write auth { basic = { username = …, password = secret.%s } } instead", label)
	case c.Scope != nil && c.Scope.Secrets != eval.AllowSecrets:
	case slices.Contains(schemes, scheme) && len(scheme) < len(text):
		use = fmt.Sprintf(`and write "%s ${secret.%s}" in its place`, scheme, label)
	default:
		use = fmt.Sprintf("and write secret.%s in its place", label)
	}
	correction := fmt.Sprintf("Declare secret %q { env = %q }, %s.", label, variable, use)
	if secrets, _ := c.Scope.Find("secret"); secrets != nil && secrets.Members[label] != nil {
		correction = fmt.Sprintf("Write secret.%s, which is declared, in its place, or an empty text for none.", label)
	}
	c.Errorf(at, literalCredential, "%s Everyone who reads the configuration or its history can use it. %s", where,
		correction)
	c.Diags.Conceal(diag.Credential{Text: text})
	c.refused = append(c.refused, at)
}

// secretLabel returns the name of a secret for the value of a name, such as x_api_key for X-Api-Key. A name of one
// word follows the label of the block around, as in shop_password.
func (c *Compiler) secretLabel(name string) string {
	label := identifier(name)
	if label == "bearer" || label == "authorization" || label == "credential" || label == "" {
		label = "token"
	}
	if owner := identifier(c.Owner); owner != "" && !strings.Contains(label, "_") {
		return owner + "_" + label
	}
	return label
}

// identifier returns the letters and digits of a name in lower case, with underscores between its words.
func identifier(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return strings.TrimSuffix(b.String(), "_")
}

// checkMade refuses a credential that a function makes of what the author wrote, and that no argument shows.
func (c *Compiler) checkMade(e *hclsyntax.FunctionCallExpr, args []eval.TypedExpr, n eval.TypedExpr) {
	if c.ExemptCredentials || !n.Known || n.Sensitive || n.Supplied {
		return
	}
	var found credential.Match
	var text string
	eachText("", n.Value, func(_, t string) {
		if m, ok := credential.Find(t); ok && text == "" {
			found, text = m, t
		}
	})
	if text == "" {
		return
	}
	shown := false
	for _, a := range args {
		eachText("", a.Value, func(_, t string) {
			_, ok := credential.Find(t)
			shown = shown || ok
		})
	}
	if shown {
		return
	}
	where := fmt.Sprintf("%s gives %s, made of what is written in the configuration.", e.Name, found.Noun)
	if name, ok := args[0].Value.(string); ok && strings.HasPrefix(e.Name, "file") {
		where = fmt.Sprintf("The file %s holds %s.", name, found.Noun)
	}
	c.refuseCredential(e.Range(), where, secretName(found), text[found.Start:found.End])
}

// secretName returns the name of a secret for a credential that was found by its form.
func secretName(m credential.Match) string {
	if m.Name != "" {
		return m.Name
	}
	for _, article := range []string{"an ", "a ", "the "} {
		if rest, ok := strings.CutPrefix(m.Noun, article); ok {
			return strings.TrimSuffix(rest, " of a URL")
		}
	}
	return m.Noun
}

// checkJoined refuses a credential that a template makes of literals and of values that the author wrote elsewhere.
func (c *Compiler) checkJoined(t *template.Tree) {
	if c.ExemptCredentials || !slices.ContainsFunc(t.Nodes, isWritten) {
		return
	}
	var text strings.Builder
	type piece struct {
		from, to int
		h        *template.Interpolation
	}
	var pieces []piece
	for _, n := range t.Nodes {
		switch n := n.(type) {
		case *template.Text:
			text.WriteString(n.Value)
		case *template.Interpolation:
			from := text.Len()
			if isWritten(n) {
				text.WriteString(n.Written)
				pieces = append(pieces, piece{from, text.Len(), n})
			} else {
				text.WriteString(credential.Unknown)
			}
		default:
			text.WriteString(credential.Unknown)
		}
	}
	for _, m := range credential.FindAll(text.String()) {
		found := text.String()[m.Start:m.End]
		if !credential.IsKnown(found) {
			continue
		}
		for _, p := range pieces {
			if _, whole := credential.Find(p.h.Written); !whole && p.from < m.End && p.to > m.Start {
				c.refuseCredential(p.h.Range, fmt.Sprintf("%s makes this %s, with a value that is written in the "+
					"configuration.", p.h.Source, m.Noun), secretName(m), found)
				break
			}
		}
	}
}

func isWritten(n template.Node) bool {
	h, ok := n.(*template.Interpolation)
	return ok && h.Written != ""
}
