package edit

import (
	"regexp"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/functions"
)

// addFunctions adds the functions that can be called in a program, or in ${...}.
func (c *completion) addFunctions(program bool) {
	call := strings.HasPrefix(c.after(), "(")
	for _, f := range c.callable(program) {
		score := 2*c.useScore(f.name, '(') + float64(slices.Index(likelyFunctions, f.name)+1)/5
		item := Item{Label: f.name, Kind: ItemFunction, Detail: f.usage, Doc: f.doc, score: score - 20}
		if call {
			item.score += 20 + c.argumentScore(f)
		} else {
			item.Insert, item.Snippet = f.name+"($0)", true
		}
		c.add(item)
	}
}

// callable is a function that can be called.
type callable struct {
	name, usage, doc string
	fn               *functions.Function // nil for one that is not in the table
}

// callable returns the functions of programs, or of ${...}.
func (c *completion) callable(program bool) (all []callable) {
	for _, f := range functions.Table() {
		if !f.LoadOnly || !program {
			all = append(all, callable{f.Name, f.Usage(), f.Doc, &f})
		}
	}
	if program {
		for _, b := range exprlang.Builtins() {
			all = append(all, callable{b.Name, b.Usage, b.Doc, nil})
		}
		return all
	}
	for _, t := range hcl.TemplateFunctions() {
		name, _, _ := strings.Cut(t.Usage, "(")
		all = append(all, callable{name, t.Usage, t.Doc, nil})
	}
	return append(all, callable{"try", "try(value, fallback)", "Returns the first argument that can be computed.", nil},
		callable{"can", "can(value)", "Reports whether a value can be computed.", nil})
}

// likelyFunctions are the functions that are written most, the least first.
var likelyFunctions = strings.Fields(`
	abs flatten sort keys values distinct contains timeadd tonumber startswith endswith substr trimspace
	round floor max min sum split replace regex under filename file ident find any all first sortBy groupBy
	now lookup merge concat formatdate base64encode jsondecode urlencode lower upper tostring join try filter
	map count len length format coalesce jsonencode`)

// argumentScore says how well the arguments that are already written fit a function.
func (c *completion) argumentScore(f callable) float64 {
	inside := strings.TrimPrefix(c.after(), "(")
	arguments, ok := countArguments(inside)
	if !ok {
		return 0
	}
	if c.isPiped() {
		arguments++
	}
	least, most := strings.Count(f.usage, ",")+1, strings.Count(f.usage, ",")+1
	if strings.HasSuffix(f.usage, "()") {
		least, most = 0, 0
	}
	if f.fn != nil {
		least, most = f.fn.Arity()
	} else {
		least -= strings.Count(f.usage, "?")
	}
	score := 0.0
	if arguments < least || most >= 0 && arguments > most {
		score -= 40
	}
	text, isText := strings.CutPrefix(inside, `"`)
	text, _, _ = strings.Cut(text, `"`)
	isFile := isText && arguments == 1 && fileName.MatchString(text)
	if f.fn != nil && f.fn.LoadOnly {
		score += map[bool]float64{true: 15, false: -5}[isFile]
	}
	return score + c.predicateScore(f, inside, arguments)
}

var (
	fileName  = regexp.MustCompile(`^[A-Za-z0-9_./-]+\.[a-z0-9]+$`)
	predicate = regexp.MustCompile(`(^|[^A-Za-z0-9_)\]])[.#]`)
)

// predicateScore prefers functions with a predicate for arguments that have one, and others for those that have none.
func (c *completion) predicateScore(f callable, inside string, arguments int) float64 {
	takes := strings.Contains(f.usage, "predicate")
	depth := 0
	end := strings.IndexFunc(inside, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth < 0
	})
	if end < 0 {
		end = len(inside)
	}
	has := arguments > 1 && predicate.MatchString(inside[:end])
	switch {
	case takes && has:
		return 10
	case takes != has:
		return -10
	}
	return 0
}

// isPiped reports whether the first argument of the function at the cursor is before a pipe.
func (c *completion) isPiped() bool {
	before := strings.TrimRight(string(c.src[c.region.From:c.from]), " ")
	return strings.HasSuffix(before, "|") && !strings.HasSuffix(before, "||")
}

// countArguments returns the number of arguments up to the closing parenthesis.
func countArguments(text string) (n int, ok bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
			n = max(n, 1)
		case b == '"' || b == '\'':
			quote = b
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case strings.IndexByte(")]}", b) >= 0:
			if depth == 0 {
				return n, true
			}
			depth--
		case b == ',' && depth == 0:
			n++
		case b != ' ':
			n = max(n, 1)
		}
	}
	return n, false
}
