package hclexpr

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/value"
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

// NoteParts makes the compiler keep the expressions that it compiles, for CheckWritten and the checks like it.
func (c *Compiler) NoteParts() {
	if !c.ExemptCredentials {
		c.parts = map[hclsyntax.Expression]eval.TypedExpr{}
	}
}

// CheckWritten refuses credentials that the author wrote into the value of a name, or into members of it. The
// expression was compiled after NoteParts.
func (c *Compiler) CheckWritten(name string, e hclsyntax.Expression) {
	c.checkWritten(name, e, credential.IsNamed)
}

// CheckSent is CheckWritten where credentials are sent, under whatever names.
func (c *Compiler) CheckSent(name string, e hclsyntax.Expression) {
	c.checkWritten(name, e, credential.IsSent)
}

func (c *Compiler) checkWritten(name string, e hclsyntax.Expression, isCredential func(name, text string) bool) {
	if c.parts == nil {
		return
	}
	made := slices.Clone(c.refused) // by functions and templates in the expression
	reported := map[hclsyntax.Expression]bool{}
	w := &writtenWalker{c: c, report: func(at hclsyntax.Expression, name, text string) {
		if reported[at] || !isCredential(name, text) {
			return
		}
		isMade := func(r hclv2.Range) bool { return inside(r, at.Range()) || inside(at.Range(), r) }
		if _, shown := credential.Find(text); !shown && !slices.ContainsFunc(made, isMade) {
			reported[at] = true
			c.refuseNamed(at, name, text)
		}
	}}
	w.walk(e, name)
}

func inside(inner, outer hclv2.Range) bool {
	return inner.Filename == outer.Filename && inner.Start.Byte >= outer.Start.Byte && inner.End.Byte <= outer.End.Byte
}

// refuseNamed reports the credential that the expression at gives under a name.
func (c *Compiler) refuseNamed(at hclsyntax.Expression, name, text string) {
	where := fmt.Sprintf("The value of %s is a credential that is written here.", name)
	if n := c.parts[at]; n.Path != "" {
		where = fmt.Sprintf("The value of %s is that of %s, a credential that is written in the configuration.", name,
			eval.ShowPath(n.Path))
	}
	if file := c.fileOf(at); file != "" {
		where = fmt.Sprintf("The value of %s is that of the file %s, a credential in the configuration directory.",
			name, file)
	}
	c.refuseCredential(at.Range(), where, name, text)
}

// fileOf returns the name of the file that an expression reads at load, or "".
func (c *Compiler) fileOf(e hclsyntax.Expression) (name string) {
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hclv2.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || !strings.HasPrefix(call.Name, "file") || len(call.Args) != 1 {
			return nil
		}
		if text, ok := c.parts[call.Args[0]].Value.(string); ok && text != "" {
			name = text
		}
		return nil
	})
	return name
}

// writtenWalker finds the texts that an author wrote and that become the value of an expression, or a part of it.
type writtenWalker struct {
	c      *Compiler
	report func(at hclsyntax.Expression, name, text string)
	steps  int
}

// maxWrittenSteps bounds the walk through locals that read each other many times.
const maxWrittenSteps = 10_000

func (w *writtenWalker) walk(e hclsyntax.Expression, name string) {
	if w.steps++; w.steps > maxWrittenSteps {
		return
	}
	n, compiled := w.c.parts[e]
	if compiled && n.Known && !n.Sensitive && !n.Supplied {
		w.reportAll(e, name, n.Value)
		return
	}
	if choices := n.AllChoices; compiled && !n.Sensitive && !n.Supplied && n.Choices != nil {
		for _, v := range choices() {
			w.reportAll(e, name, v)
		}
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		w.walk(e.Expression, name)
	case *hclsyntax.TemplateWrapExpr:
		w.walk(e.Wrapped, name)
	case *hclsyntax.ConditionalExpr:
		w.walk(e.TrueResult, name)
		w.walk(e.FalseResult, name)
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			w.walk(x, name)
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			key, _ := w.c.keyText(item.KeyExpr)
			w.walk(item.ValueExpr, key)
		}
	case *hclsyntax.FunctionCallExpr:
		w.walkCall(e, name, n)
	case *hclsyntax.TemplateExpr:
		w.walkParts(e, e, name, n)
	case *hclsyntax.ForExpr:
		w.walk(e.ValExpr, name)
	case *hclsyntax.ScopeTraversalExpr:
		if m := w.c.memberOf(e.Traversal); m != nil && m.Written != nil {
			m.Written(name, func(name, text string) { w.report(e, name, text) })
		}
	}
}

// alternatives are the functions whose result is one of their arguments, or made of their members.
var alternatives = template.WordSet("coalesce try lookup element merge concat flatten compact distinct tomap tolist " +
	"toset one jsonencode")

// walkCall walks the arguments of a function. Those that it only makes a part of a text are parts.
func (w *writtenWalker) walkCall(e *hclsyntax.FunctionCallExpr, name string, n eval.TypedExpr) {
	for i, a := range e.Args {
		switch {
		case alternatives[e.Name] && !(e.Name == "lookup" && i == 1):
			w.walk(a, name)
		default:
			w.walkParts(a, a, name, n)
		}
	}
}

// walkParts reports the parts of a text that look like a credential beside parts that are not known. A text with a
// secret in it has what it needs.
func (w *writtenWalker) walkParts(e, at hclsyntax.Expression, name string, whole eval.TypedExpr) {
	if whole.Sensitive || !credential.MayBeName(name) {
		return
	}
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range x.Parts {
			if _, isText := part.(*hclsyntax.LiteralValueExpr); !isText {
				w.walkParts(part, part, name, whole)
			}
		}
	case *hclsyntax.TemplateWrapExpr:
		w.walkParts(x.Wrapped, at, name, whole)
		return
	case *hclsyntax.FunctionCallExpr:
		for _, a := range x.Args {
			w.walkParts(a, a, name, whole)
		}
		return
	case *hclsyntax.ParenthesesExpr:
		w.walkParts(x.Expression, at, name, whole)
		return
	default:
		return
	}
	text := strings.TrimSpace(w.c.writtenText(e))
	if first, rest, has := strings.Cut(text, " "); has && credential.IsKnown(first) {
		text = rest // a scheme
	}
	for part := range strings.SplitSeq(text, credential.Unknown) {
		part = strings.TrimSpace(part)
		if len(part) >= 6 && !strings.HasSuffix(part, ":") && strings.ContainsAny(part, "0123456789") &&
			strings.IndexFunc(part, isLetter) >= 0 && !strings.ContainsAny(part, "%${}") {
			w.report(at, name, strings.TrimLeft(part, ":"))
		}
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// reportAll reports the texts of a value of an expression, each at the smallest part that gives it: the literal, or
// what names it.
func (w *writtenWalker) reportAll(e hclsyntax.Expression, name string, v any) {
	var smallest map[string]hclsyntax.Expression
	eachText(name, v, func(name, text string) {
		if smallest == nil {
			smallest = w.parts(e)
		}
		at := smallest[text]
		if at == nil {
			at = e
		}
		w.report(at, name, text)
	})
}

// parts returns the smallest part of an expression that gives each text.
func (w *writtenWalker) parts(e hclsyntax.Expression) map[string]hclsyntax.Expression {
	smallest := map[string]hclsyntax.Expression{}
	hclsyntax.VisitAll(e, func(node hclsyntax.Node) hclv2.Diagnostics {
		x, ok := node.(hclsyntax.Expression)
		if !ok {
			return nil
		}
		n := w.c.parts[x]
		if text, isText := n.Value.(string); isText && n.Known {
			smallest[text] = x
		}
		return nil
	})
	return smallest
}

// eachText calls do with each text of a value and its name: that of the whole, or of the member that it is.
func eachText(name string, v any, do func(name, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachText(key, v[key], do)
		}
	case []any:
		for _, x := range v {
			eachText(name, x, do)
		}
	case bool, nil:
	default:
		if text, err := value.Text(v); err == nil {
			do(name, text)
		}
	}
}

// EachWritten returns what calls do with each text that the author wrote into the value of an expression, which was
// compiled after NoteParts, and with its name.
func (c *Compiler) EachWritten(e hclsyntax.Expression) func(name string, do func(name, text string)) {
	if c.parts == nil {
		return nil
	}
	running := false
	return func(name string, do func(name, text string)) {
		if running {
			return
		}
		running = true
		w := &writtenWalker{c: c, report: func(_ hclsyntax.Expression, name, text string) { do(name, text) }}
		w.walk(e, name)
		running = false
	}
}

// memberOf returns the member that a traversal names, and nothing of it.
func (c *Compiler) memberOf(t hclv2.Traversal) *eval.Member {
	r, _ := c.Scope.Find(t.RootName())
	if r == nil || len(t) < 2 {
		return nil
	}
	name, _ := TraverserName(t[1])
	return r.Members[name]
}

// keyText returns the text of the key of an object.
func (c *Compiler) keyText(e hclsyntax.Expression) (string, bool) {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hclv2.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		e = k.Wrapped
	}
	n := c.parts[e]
	text, err := value.Text(n.Value)
	return text, n.Known && err == nil
}

// writtenText returns the text of an expression, with credential.Unknown for what the author did not write.
func (c *Compiler) writtenText(e hclsyntax.Expression) string {
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		var b strings.Builder
		for _, part := range t.Parts {
			if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				text, _ := value.Text(LiteralValue(l.Val))
				b.WriteString(text)
			} else {
				b.WriteString(c.writtenText(part))
			}
		}
		return b.String()
	}
	n := c.parts[e]
	if text, err := value.Text(n.Value); err == nil && n.Known && !n.Sensitive && !n.Supplied {
		return text
	}
	return credential.Unknown
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

// CheckWords refuses credentials in the words of a command line, which begins with a prefix.
func (c *Compiler) CheckWords(e hclsyntax.Expression, prefix []string) {
	if c.parts == nil {
		return
	}
	list, places := slices.Clone(prefix), make([]hclsyntax.Expression, len(prefix))
	c.eachWord(e, func(x hclsyntax.Expression, text string) {
		list, places = append(list, text), append(places, x)
	})
	i, m, found := credential.FindWord(list)
	if !found || places[i] == nil {
		return
	}
	if _, shown := credential.Find(list[i]); shown { // LiteralCredentials reports it
		return
	}
	c.refuseCredential(places[i].Range(), fmt.Sprintf("The word holds %s, a credential.", m.Noun), m.Name,
		list[i][m.Start:m.End])
}

// eachWord calls do with the words of a command, those of branches one after the other.
func (c *Compiler) eachWord(e hclsyntax.Expression, do func(e hclsyntax.Expression, text string)) {
	switch x := e.(type) {
	case *hclsyntax.TupleConsExpr:
		for _, word := range x.Exprs {
			c.eachWord(word, do)
		}
	case *hclsyntax.ParenthesesExpr:
		c.eachWord(x.Expression, do)
	case *hclsyntax.ConditionalExpr:
		c.eachWord(x.TrueResult, do)
		c.eachWord(x.FalseResult, do)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range x.Items {
			if key, _ := c.keyText(item.KeyExpr); key == "command" {
				c.eachWord(item.ValueExpr, do)
			}
		}
	default:
		if list, ok := c.parts[e].Value.([]any); ok && c.parts[e].Known && !c.parts[e].Sensitive {
			for _, word := range list {
				text, _ := value.Text(word)
				do(e, text)
			}
			return
		}
		do(e, c.writtenText(e))
	}
}

// CheckBody refuses credentials in the text of a body, such as the members of its JSON.
func (c *Compiler) CheckBody(e hclsyntax.Expression) {
	if c.parts == nil {
		return
	}
	text := c.writtenText(e)
	if m, found := credential.FindNamed(text); found && credential.IsKnown(text[m.Start:m.End]) && m.Name != "" {
		if _, shown := credential.Find(text); !shown {
			c.refuseCredential(e.Range(), fmt.Sprintf("The text holds %s, a credential.", m.Noun), m.Name,
				text[m.Start:m.End])
		}
	}
}

// CheckScript refuses credentials in the commands of a script.
func (c *Compiler) CheckScript(e hclsyntax.Expression, commands [][]string) {
	if c.parts == nil {
		return
	}
	placeOf := c.placesIn(e)
	for _, list := range commands {
		i, m, found := credential.FindWord(list)
		if !found {
			continue
		}
		if _, shown := credential.Find(list[i]); shown {
			continue
		}
		text := list[i][m.Start:m.End]
		c.refuseCredential(placeOf(text), fmt.Sprintf("The command holds %s, a credential.", m.Noun), m.Name, text)
	}
}

// placesIn returns a function that returns where a text is written in a template, or the whole template. Each literal
// is aligned with its source once. Texts that come in the order of the template are found in linear time.
func (c *Compiler) placesIn(e hclsyntax.Expression) func(text string) hclv2.Range {
	var literals []*template.Text
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		for _, part := range t.Parts {
			if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				decoded, _ := LiteralValue(l.Val).(string)
				literals = append(literals, c.literalText(decoded, l.SrcRange))
			}
		}
	}
	latest := 0 // the literal of the text before
	return func(text string) hclv2.Range {
		for n := range literals {
			at := (latest + n) % len(literals)
			if i := strings.Index(literals[at].Value, text); i >= 0 {
				latest = at
				return literals[at].Place(i, i+len(text))
			}
		}
		return e.Range()
	}
}

// LiteralCredentials returns a diagnostic for each literal of a block, and of the blocks in it, that shows a credential
// by its form. Owner is the last label around it.
func LiteralCredentials(src []byte, block *hclsyntax.Block, owner string) (diags diag.Diagnostics) {
	if n := len(block.Labels); n > 0 {
		owner = block.Labels[n-1]
	}
	c := &Compiler{src: src, Owner: owner}
	for _, a := range block.Body.Attributes {
		c.inBaseURL = a.Name == "base_url"
		hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hclv2.Diagnostics {
			if t, ok := n.(*hclsyntax.TemplateExpr); ok {
				c.checkLiterals(t, a.Name == "description" || a.Name == "instructions")
			}
			return nil
		})
	}
	for _, b := range block.Body.Blocks {
		c.Diags = append(c.Diags, LiteralCredentials(src, b, owner)...)
	}
	return c.Diags
}

// checkLiterals reports the credentials that the literal parts of a template show. A text that explains may have an
// example of a parameter, as in ?token=abc.
func (c *Compiler) checkLiterals(t *hclsyntax.TemplateExpr, explains bool) {
	text := literalParts(t)
	matches := credential.FindAll(text)
	if len(matches) == 0 {
		return
	}
	type piece struct {
		from    int
		literal *template.Text
	}
	var pieces []piece
	from := 0
	for _, part := range t.Parts {
		decoded := literalPart(part)
		if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
			pieces = append(pieces, piece{from, c.literalText(decoded, l.SrcRange)})
		}
		from += len(decoded)
	}
	for _, m := range matches {
		found := text[m.Start:m.End]
		if !credential.IsKnown(found) || explains && m.Name != "" && !credential.LooksRandom(found) {
			continue
		}
		at := t.Range()
		after := sort.Search(len(pieces), func(i int) bool { return pieces[i].from > m.Start })
		if after > 0 {
			if p := pieces[after-1]; m.End <= p.from+len(p.literal.Value) {
				at = p.literal.Place(m.Start-p.from, m.End-p.from)
			}
		}
		c.refuseCredential(at, "This is "+m.Noun+".", secretName(m), found)
		c.Diags.Conceal(diag.Credential{Text: found, Whole: at != t.Range()})
	}
}

// literalParts returns the text of a template, with credential.Unknown for the parts that are no literals.
func literalParts(t *hclsyntax.TemplateExpr) string {
	if len(t.Parts) == 1 {
		return literalPart(t.Parts[0])
	}
	var text strings.Builder
	for _, part := range t.Parts {
		text.WriteString(literalPart(part))
	}
	return text.String()
}

func literalPart(e hclsyntax.Expression) string {
	if l, ok := e.(*hclsyntax.LiteralValueExpr); ok {
		decoded, _ := LiteralValue(l.Val).(string)
		return decoded
	}
	return credential.Unknown
}

// FileCredentials returns a diagnostic for each credential of a known service, and each private key, in a file that a
// program may read; in a script, also for each password of a URL and the like, which other code may have in examples.
func FileCredentials(name string, src []byte, isScript bool) diag.Diagnostics {
	find := credential.FindIssued
	if isScript {
		find = credential.FindAll
	}
	c := &Compiler{src: src, Scope: &eval.Scope{}}
	position := func(at int) hclv2.Pos {
		line := bytes.LastIndexByte(src[:at], '\n') + 1
		number, column := 1+bytes.Count(src[:at], []byte("\n")), 1+utf8.RuneCount(src[line:at])
		return hclv2.Pos{Line: number, Column: column, Byte: at}
	}
	for _, m := range find(string(src)) {
		at := hclv2.Range{Filename: name, Start: position(m.Start), End: position(m.End)}
		c.refuseCredential(at, "This is "+m.Noun+", in a file that a program may read.", secretName(m),
			string(src[m.Start:m.End]))
	}
	return c.Diags
}
