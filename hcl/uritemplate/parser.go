package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// templateParser builds the regular expression that matches URIs.
type templateParser struct {
	out     *Template
	pattern strings.Builder
	before  string // the operator of the expression just before, "x" for {x}; empty after a literal
	inQuery bool   // a literal began the query
	// reserved matches a character of {+x}, which ends before a query expression
	reserved string
}

// Parse parses a template. Its error is for the author and describes a template that is invalid or
// cannot be matched.
func Parse(raw string) (*Template, error) {
	if len(raw) > maxTemplateSize {
		return nil, fmt.Errorf("the maximum length of a template is %d bytes, and this one has %d", maxTemplateSize,
			len(raw))
	}
	p := &templateParser{out: &Template{raw: raw}, reserved: reservedValue}
	if strings.Contains(raw, "{?") || strings.Contains(raw, "{&") {
		p.reserved = pathValue
	}
	p.pattern.WriteByte('^')
	for rest := raw; rest != ""; {
		literal, after, opened := strings.Cut(rest, "{")
		if err := p.addLiteral(literal); err != nil {
			return nil, err
		}
		if !opened {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(inside, "{") {
			return nil, fmt.Errorf("a { is not closed: a variable is written {name}")
		}
		if err := p.addExpression(inside, behind); err != nil {
			return nil, err
		}
		rest = behind
	}
	p.pattern.WriteByte('$')
	var err error
	if p.out.whole, err = regexp.Compile(p.pattern.String()); err != nil {
		return nil, fmt.Errorf("it is too complex to match URIs")
	}
	return p.out, nil
}

func (p *templateParser) addLiteral(text string) error {
	if text == "" {
		return nil
	}
	if strings.Contains(text, "}") {
		return fmt.Errorf("unmatched }: a variable is written {name}")
	}
	if bad := invalidURIChar(text); bad != "" {
		return fmt.Errorf("%q is not allowed in a URI: write it as %s", bad, url.PathEscape(bad))
	}
	if len(p.out.variables) == 0 {
		p.out.prefix = text
	}
	p.pattern.WriteString(regexp.QuoteMeta(text))
	p.before, p.inQuery = "", p.inQuery || strings.Contains(text, "?")
	return nil
}

// addExpression adds the expression between braces; behind is the text after it.
func (p *templateParser) addExpression(inside, behind string) error {
	op := "x"
	if inside != "" && strings.Contains("+#./;?&=,!@|", inside[:1]) {
		op, inside = inside[:1], inside[1:]
	}
	names := strings.Split(inside, ",")
	for _, name := range names {
		if err := p.declareVariable(name, op); err != nil {
			return err
		}
	}
	if len(p.out.variables) > maxVariables {
		return fmt.Errorf("the maximum number of variables is %d", maxVariables)
	}
	first := names[0]
	switch {
	case op == "." || op == "#":
		return fmt.Errorf("{%s%s} cannot be matched against a URI; write %s{%s}", op, first, op,
			map[string]string{".": first, "#": "+" + first}[op])
	case !strings.Contains("x+/?&", op):
		return fmt.Errorf("{%s%s} is not one of the supported forms: {x}, {+x}, {/x}, {?x} and {&x}", op, inside)
	case len(names) > 1 && (op == "x" || op == "+"):
		return fmt.Errorf("{%s} holds several variables, and only {/x,y}, {?x,y} and {&x,y} can; write {%s}", inside,
			strings.Join(names, "},{"))
	case strings.Contains("?&", op) && behind != "":
		return fmt.Errorf("{%s%s} must be at the end of the template, because parameters come in any order", op, inside)
	case op == "&" && !p.inQuery:
		return fmt.Errorf("{&%s} continues a query, but there is no ? before it; write {?%s}", inside, inside)
	case op == "?" && p.inQuery:
		return fmt.Errorf("{?%s} begins a query, but there is already a ? before it; write {&%s}", inside, inside)
	case op != "?" && op != "&" && p.before != "" && (op != "/" || p.before == "+"):
		return fmt.Errorf("two variables are adjacent, so the beginning of %s is ambiguous; write a "+
			"character between them", first)
	}
	p.before = op
	switch op {
	case "/":
		p.addSegments(names)
	case "?", "&":
		p.addParameters(op, names)
	case "+":
		p.addGroup(first, p.reserved)
	default:
		p.addGroup(first, plainValue)
	}
	return nil
}

// declareVariable declares a variable.
func (p *templateParser) declareVariable(name, op string) error {
	bare, _, _ := strings.Cut(strings.TrimRight(name, "*"), ":")
	switch {
	case bare != name && variableName.MatchString(bare):
		return fmt.Errorf("{%s} cannot be matched against a URI; write {%s}", name, bare)
	case !variableName.MatchString(name):
		return fmt.Errorf("a variable is read as input.<name>, so it must start with a letter and consist "+
			"of letters, digits and _: not %q", name)
	case slices.ContainsFunc(p.out.variables, func(v Variable) bool { return v.Name == name }):
		return fmt.Errorf("the variable %s is used twice; rename one", name)
	}
	p.out.variables = append(p.out.variables, Variable{name, strings.Contains("/?&", op)})
	return nil
}

func (p *templateParser) addGroup(name, value string) {
	fmt.Fprintf(&p.pattern, "(?P<%s>%s+)", name, value)
}

// addSegments adds {/x,y}: the second segment requires the first.
func (p *templateParser) addSegments(names []string) {
	for _, name := range names {
		p.pattern.WriteString("(?:/")
		p.addGroup(name, plainValue)
	}
	p.pattern.WriteString(strings.Repeat(")?", len(names)))
}

// addParameters adds {?x,y} and {&x,y}. Match rejects repeated parameters.
func (p *templateParser) addParameters(op string, names []string) {
	pair := "(?:" + strings.Join(names, "|") + ")=" + plainValue + "*"
	if op == "?" {
		fmt.Fprintf(&p.pattern, `(?:\?(%s(?:&%s)*)?)?`, pair, pair)
		return
	}
	fmt.Fprintf(&p.pattern, `((?:&%s)*)`, pair)
}
