package functions

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

// Patterns is a cache of compiled regular expressions. The zero value is ready to use. It is safe
// for concurrent use.
type Patterns struct {
	mu       sync.RWMutex
	compiled map[string]*regexp.Regexp // guarded by mu
}

const (
	maxPatterns      = 256 // entries of the cache, which is emptied then
	maxPatternLength = 4096
)

// Compile returns the compiled pattern. The error is a sentence for the author. A nil Patterns
// compiles each time.
func (p *Patterns) Compile(pattern string) (*regexp.Regexp, error) {
	if p == nil {
		return compilePattern(pattern)
	}
	p.mu.RLock()
	re := p.compiled[pattern]
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
	if p.compiled == nil || len(p.compiled) >= maxPatterns {
		p.compiled = make(map[string]*regexp.Regexp)
	}
	p.compiled[pattern] = re
	return re, nil
}

func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPatternLength {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternLength)
	}
	re, err := regexp.Compile(pattern)
	bad, invalid := errors.AsType[*syntax.Error](err)
	if !invalid {
		return re, err
	}
	reason := string(bad.Code)
	switch bad.Code {
	case syntax.ErrInvalidPerlOp:
		reason = "lookaround and backreferences are not supported"
	case syntax.ErrMissingRepeatArgument:
		reason = "nothing to repeat"
	}
	return nil, fmt.Errorf("the pattern is not a regular expression: %s in %q", reason, bad.Expr)
}

func regexFunctions() []Function {
	pattern, text := param("pattern", String), param("text", String)
	return []Function{
		New("regex", "Returns the first match of a pattern: a string, a list of its groups, or an object of its "+
			"named groups; fails if nothing matches.", params(pattern, text), fixed(Any), regex),
		New("regexall", "Returns a list of all matches of a pattern.", params(pattern, text), listOf(Any), regexAll),
		New("regexreplace", "Replaces every match of a pattern; $1 and ${name} in the replacement are groups.",
			params(text, pattern, param("replacement", String)), fixed(String), regexReplace),
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
		return nil, errors.New("the pattern does not match the text")
	}
	return matchValue(c, re, s, m)
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
		v, err := matchValue(c, re, s, m)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// matchValue returns the match m of re in s: an object if the pattern has named groups, a list if
// it has groups, else a string. A group that did not take part in the match is null.
func matchValue(c *Context, re *regexp.Regexp, s string, m []int) (any, error) {
	group := func(i int) any {
		if m[2*i] < 0 {
			return nil
		}
		return s[m[2*i]:m[2*i+1]]
	}
	names := re.SubexpNames()
	if err := c.entries(len(names)); err != nil {
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
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		before := len(out)
		out = append(out, s[end:m[0]]...)
		out = re.ExpandString(out, replacement, s, m)
		end = m[1]
		if err := c.Spend(len(out) - before + itemSize); err != nil {
			return nil, err
		}
	}
	return c.text(string(append(out, s[end:]...)))
}
