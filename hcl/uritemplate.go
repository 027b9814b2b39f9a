package hcl

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of URIs and of templates, so that matching one with the other takes little time whoever wrote the URI.
const (
	maxURI         = 2 << 10 // bytes
	maxURITemplate = 512     // bytes
	maxVariables   = 16
)

// URITemplate is a family of URIs, as RFC 6570 writes it: {x}, {+x}, {/x,y}, and {?x,y} or {&x,y} at the end. Each variable is one text. A URI of the family
// says what its variables are: where several readings are possible, an earlier variable takes as much as it can.
type URITemplate struct {
	raw       string
	prefix    string // what every URI of the family begins with
	whole     *regexp.Regexp
	names     []string // of the groups of whole
	query     bool     // the last group is the query
	variables []URIVariable
}

// URIVariable is a variable of a template. Optional ones may be missing from a URI.
type URIVariable struct {
	Name     string
	Optional bool
}

// Raw is the template as it was written.
func (t *URITemplate) Raw() string { return t.raw }

// Variables are the variables in written order.
func (t *URITemplate) Variables() []URIVariable { return t.variables }

// Match gives the decoded texts of the variables of a URI of the family; false for any other URI. It takes time in proportion to the length of the URI, and
// refuses one of more than 2 KiB. Parameters of the query may come in any order.
func (t *URITemplate) Match(uri string) (map[string]string, bool) {
	if len(uri) > maxURI || !strings.HasPrefix(uri, t.prefix) || !utf8.ValidString(uri) {
		return nil, false
	}
	found := t.whole.FindStringSubmatchIndex(uri)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(t.variables))
	for i, name := range t.names {
		from, to := found[2*i+2], found[2*i+3]
		if from >= 0 && !decodeInto(values, name, uri[from:to]) {
			return nil, false
		}
	}
	if last := len(found) - 2; t.query && found[last] >= 0 {
		for pair := range strings.SplitSeq(uri[found[last]:found[last+1]], "&") {
			if name, text, there := strings.Cut(pair, "="); there && !decodeInto(values, name, text) {
				return nil, false
			}
		}
	}
	return values, true
}

// decodeInto adds a value, unless it is there already or is not a text.
func decodeInto(values map[string]string, name, escaped string) bool {
	text, err := url.PathUnescape(escaped)
	if _, twice := values[name]; twice || err != nil || !utf8.ValidString(text) {
		return false
	}
	values[name] = text
	return true
}

// What values may hold in a URI: unreserved characters, those that encodeURIComponent leaves alone, those of other scripts, and escapes; {+x} also takes what is
// reserved, but the query, where there is one behind it, begins at the first question mark.
const (
	plainValue    = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}]|%[0-9A-Fa-f]{2})`
	reservedValue = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/?#\[\]@$&+,;=]|%[0-9A-Fa-f]{2})`
	pathValue     = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/\[\]@$+,;=]|%[0-9A-Fa-f]{2})`
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A templateParser makes the expression that URIs are matched with.
type templateParser struct {
	out     *URITemplate
	pattern strings.Builder
	before  string // the operator of the expression just before, "x" for {x}; empty after a literal
	asked   bool   // a literal has begun the query
	queries bool   // a query expression follows somewhere
}

// parseURITemplate reads a template. Its error is a sentence for the author, about a template that is not one or that URIs cannot be matched with.
func parseURITemplate(raw string) (*URITemplate, error) {
	if len(raw) > maxURITemplate {
		return nil, fmt.Errorf("a template may have %d bytes, and this one has %d", maxURITemplate, len(raw))
	}
	p := &templateParser{out: &URITemplate{raw: raw}, queries: strings.Contains(raw, "{?") || strings.Contains(raw, "{&")}
	p.pattern.WriteByte('^')
	for rest := raw; rest != ""; {
		literal, after, opened := strings.Cut(rest, "{")
		if err := p.literal(literal); err != nil {
			return nil, err
		}
		if !opened {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(inside, "{") {
			return nil, fmt.Errorf("a { is not closed: a variable is written {name}")
		}
		if err := p.expression(inside, behind); err != nil {
			return nil, err
		}
		rest = behind
	}
	p.pattern.WriteByte('$')
	whole, err := regexp.Compile(p.pattern.String())
	if err != nil {
		return nil, fmt.Errorf("it is too complicated to match URIs with")
	}
	p.out.whole = whole
	return p.out, nil
}

func (p *templateParser) literal(text string) error {
	if text == "" {
		return nil
	}
	if strings.Contains(text, "}") {
		return fmt.Errorf("a } closes nothing: a variable is written {name}")
	}
	if bad := notOfURI(text); bad != "" {
		return fmt.Errorf("%q cannot stand in a URI: write it as %s", bad, escaped(bad))
	}
	if len(p.out.variables) == 0 {
		p.out.prefix = text
	}
	p.pattern.WriteString(regexp.QuoteMeta(text))
	p.before, p.asked = "", p.asked || strings.Contains(text, "?")
	return nil
}

// expression adds what stands between braces; behind is what follows it.
func (p *templateParser) expression(inside, behind string) error {
	op := "x"
	if inside != "" && strings.Contains("+#./;?&=,!@|", inside[:1]) {
		op, inside = inside[:1], inside[1:]
	}
	names := strings.Split(inside, ",")
	for _, name := range names {
		if err := p.variable(name, op); err != nil {
			return err
		}
	}
	if len(p.out.variables) > maxVariables {
		return fmt.Errorf("a template may have %d variables", maxVariables)
	}
	first := names[0]
	switch {
	case op == "." || op == "#":
		return fmt.Errorf("{%s%s} cannot be matched back; write %s{%s}", op, first, op, map[string]string{".": first, "#": "+" + first}[op])
	case !strings.Contains("x+/?&", op):
		return fmt.Errorf("{%s%s} is not among the forms that can be matched back: {x}, {+x}, {/x}, {?x} and {&x}", op, inside)
	case len(names) > 1 && (op == "x" || op == "+"):
		return fmt.Errorf("{%s} holds several variables, and only {/x,y}, {?x,y} and {&x,y} can; write {%s}", inside, strings.Join(names, "},{"))
	case strings.Contains("?&", op) && behind != "":
		return fmt.Errorf("{%s%s} stands at the end of a template: parameters come in any order", op, inside)
	case op == "&" && !p.asked:
		return fmt.Errorf("{&%s} continues a query, and there is no ? before it; write {?%s}", inside, inside)
	case op == "?" && p.asked:
		return fmt.Errorf("{?%s} begins a query, and there is a ? before it already; write {&%s}", inside, inside)
	case op != "?" && op != "&" && p.before != "" && (op != "/" || p.before == "+"):
		return fmt.Errorf("nothing stands between two variables, so that nobody can tell where %s begins; write a character between them", first)
	}
	p.before = op
	switch op {
	case "/":
		p.segments(names)
	case "?", "&":
		p.parameters(op, names)
	case "+":
		p.group(first, p.reserved())
	default:
		p.group(first, plainValue)
	}
	return nil
}

// variable declares a variable.
func (p *templateParser) variable(name, op string) error {
	bare := strings.TrimRight(name, "*")
	if cut := strings.IndexByte(bare, ':'); cut >= 0 {
		bare = bare[:cut]
	}
	switch {
	case bare != name && variableName.MatchString(bare):
		return fmt.Errorf("{%s} cannot be matched back into one text; write {%s}", name, bare)
	case !variableName.MatchString(name):
		return fmt.Errorf("a variable is read as input.<name>, so it starts with a letter and holds letters, digits and _: %q cannot be one", name)
	case slices.ContainsFunc(p.out.variables, func(v URIVariable) bool { return v.Name == name }):
		return fmt.Errorf("the variable %s is there twice; give each its own name", name)
	}
	p.out.variables = append(p.out.variables, URIVariable{name, strings.Contains("/?&", op)})
	return nil
}

func (p *templateParser) reserved() string {
	if p.queries {
		return pathValue
	}
	return reservedValue
}

func (p *templateParser) group(name, value string) {
	p.out.names = append(p.out.names, name)
	fmt.Fprintf(&p.pattern, "(%s+)", value)
}

// segments are {/x,y}: the second is there only with the first.
func (p *templateParser) segments(names []string) {
	for _, name := range names {
		p.pattern.WriteString("(?:/")
		p.group(name, plainValue)
	}
	p.pattern.WriteString(strings.Repeat(")?", len(names)))
}

// parameters are {?x,y} and {&x,y}. That none comes twice is checked when they are taken apart.
func (p *templateParser) parameters(op string, names []string) {
	p.out.query = true
	pair := "(?:" + strings.Join(names, "|") + ")=" + plainValue + "*"
	if op == "?" {
		fmt.Fprintf(&p.pattern, `(?:\?(%s(?:&%s)*)?)?`, pair, pair)
		return
	}
	fmt.Fprintf(&p.pattern, `((?:&%s)*)`, pair)
}

var expressionNames = regexp.MustCompile(`[A-Za-z0-9_]+`)

// form is the template without the names of its path: templates of one form are of the same URIs.
func (t *URITemplate) form() string {
	var out strings.Builder
	for rest := t.Raw(); rest != ""; {
		literal, after, _ := strings.Cut(rest, "{")
		inside, behind, _ := strings.Cut(after, "}")
		out.WriteString(literal)
		if inside != "" && !strings.ContainsAny(inside[:1], "?&") {
			inside = expressionNames.ReplaceAllString(inside, "x")
		}
		if inside != "" {
			out.WriteString("{" + inside + "}")
		}
		rest = behind
	}
	return out.String()
}
