package functions

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

// Patterns keeps compiled regular expressions. It is safe for concurrent use, and keeps no more than a few hundred.
type Patterns struct {
	mu   sync.RWMutex
	kept map[string]*regexp.Regexp // guarded by mu
}

const mostPatterns = 256

// Compile compiles a regular expression, or finds it.
func (p *Patterns) Compile(pattern string) (*regexp.Regexp, error) {
	if p == nil {
		return compilePattern(pattern)
	}
	p.mu.RLock()
	re := p.kept[pattern]
	p.mu.RUnlock()
	if re != nil {
		return re, nil
	}
	re, err := compilePattern(pattern)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= mostPatterns {
		p.kept = make(map[string]*regexp.Regexp)
	}
	p.kept[pattern] = re
	return re, nil
}

func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > 4096 {
		return nil, errors.New("the pattern is longer than 4096 bytes")
	}
	re, err := regexp.Compile(pattern)
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("the pattern is not a regular expression: %s in %q", patternWords(bad.Code), bad.Expr)
	}
	return re, err
}

func patternWords(code syntax.ErrorCode) string {
	switch code {
	case syntax.ErrInvalidPerlOp:
		return "lookaround and backreferences do not exist here"
	case syntax.ErrMissingRepeatArgument:
		return "nothing to repeat"
	}
	return string(code)
}

func patternFunctions() []Function {
	pattern, text := param("pattern", String), param("text", String)
	return []Function{
		New("regex", "Gives the first match of a pattern: a string, a list of its groups, or an object of its named groups; no match is an error.", params(pattern, text), fixed(Any), regex),
		New("regexall", "Gives every match of a pattern as a list.", params(pattern, text), listOf(Any), regexAll),
		New("regexreplace", "Replaces every match of a pattern; $1 and ${name} in the replacement stand for groups.", params(text, pattern, param("replacement", String)), fixed(String), regexReplace),
	}
}

func regex(c *Context, a []any) (any, error) {
	re, err := c.Patterns.Compile(a[0].(string))
	if err != nil {
		return nil, err
	}
	s := a[1].(string)
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return nil, errors.New("the pattern matches nothing in the text")
	}
	return match(c, re, s, m)
}

func regexAll(c *Context, a []any) (any, error) {
	re, err := c.Patterns.Compile(a[0].(string))
	if err != nil {
		return nil, err
	}
	s := a[1].(string)
	if err := c.items(len(s) / 2); err != nil {
		return nil, err
	}
	out := []any{}
	for _, m := range re.FindAllStringSubmatchIndex(s, c.Memory/(itemSize*(2+re.NumSubexp()))) {
		v, err := match(c, re, s, m)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// match gives one match in the form that the pattern's groups ask for.
func match(c *Context, re *regexp.Regexp, s string, m []int) (any, error) {
	group := func(i int) any {
		if m[2*i] < 0 {
			return nil
		}
		return s[m[2*i]:m[2*i+1]]
	}
	names := re.SubexpNames()
	if err := c.Spend(entrySize * len(names)); err != nil {
		return nil, err
	}
	if len(names) == 1 {
		return group(0), nil
	}
	list, named := []any{}, map[string]any{}
	for i, name := range names[1:] {
		if name != "" {
			named[name] = group(i + 1)
		}
		list = append(list, group(i+1))
	}
	if len(named) > 0 {
		return named, nil
	}
	return list, nil
}

func regexReplace(c *Context, a []any) (any, error) {
	re, err := c.Patterns.Compile(a[1].(string))
	if err != nil {
		return nil, err
	}
	s, replacement := a[0].(string), a[2].(string)
	var out []byte
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		before := len(out)
		out = append(out, s[last:m[0]]...)
		out = re.ExpandString(out, replacement, s, m)
		last = m[1]
		if err := c.Spend(len(out) - before + itemSize); err != nil {
			return nil, err
		}
	}
	return c.text(string(append(out, s[last:]...)))
}
