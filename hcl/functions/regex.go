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
	compiled map[string]*Pattern // guarded by mu
}

const (
	maxPatterns      = 256 // entries of the cache, which is emptied then
	maxPatternLength = 4096
)

// Compile returns the compiled pattern. The error is a sentence for the author. A nil Patterns
// compiles each time.
func (p *Patterns) Compile(pattern string) (*Pattern, error) {
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
		p.compiled = make(map[string]*Pattern)
	}
	p.compiled[pattern] = re
	return re, nil
}

func compilePattern(pattern string) (*Pattern, error) {
	if len(pattern) > maxPatternLength {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternLength)
	}
	size, err := patternSize(pattern)
	bad, invalid := errors.AsType[*syntax.Error](err)
	switch {
	case err == nil && size > maxPatternSize:
		return nil, fmt.Errorf("the pattern repeats too much: its parts are %d, and at most %d are allowed", size,
			maxPatternSize)
	case err == nil:
		re, err := regexp.Compile(pattern)
		return &Pattern{re, size}, err
	case !invalid:
		return nil, err
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

func regex(c *Context, a []any) (any, error) {
	re, err := c.Patterns.Compile(a[0].(string))
	if err != nil {
		return nil, err
	}
	s := a[1].(string)
	var found any
	err = re.eachMatch(c, s, 1, func(m []int) (err error) {
		found, err = matchValue(c, re, s, m)
		return err
	})
	if found == nil && err == nil {
		err = errors.New("the pattern does not match the text")
	}
	return found, err
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
	err = re.eachMatch(c, s, -1, func(m []int) error {
		v, err := matchValue(c, re, s, m)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// matchValue returns the match m of re in s: an object if the pattern has named groups, a list if
// it has groups, else a string. A group that did not take part in the match is null.
func matchValue(c *Context, re *Pattern, s string, m []int) (any, error) {
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
	err = re.eachMatch(c, s, -1, func(m []int) error {
		before := len(out)
		out = append(out, s[end:m[0]]...)
		out = re.ExpandString(out, replacement, s, m)
		end = m[1]
		if err := c.scan(len(out) - before); err != nil {
			return err
		}
		return c.Spend(len(out) - before + itemSize)
	})
	if err != nil {
		return nil, err
	}
	return c.text(string(append(out, s[end:]...)))
}
