package shelltext

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Words of a command whose texts the script writes in another place, such as in a variable, are read as if
// they were written in the command: after p=sh, "$p" -c is sh -c. If a word can have several texts, each is
// checked.

const (
	maxCommandLines = 32 // command lines that the words of one command can make
	maxBraceWords   = 64 // words that the braces of one word can make
)

// wordList is a list of words that are assigned together: the elements of an array, or positional parameters.
type wordList struct {
	words   []word
	appends bool // to the list before it
}

// isSame reports whether two lists have the same texts.
func (l wordList) isSame(other wordList) bool {
	return l.appends == other.appends && slices.EqualFunc(l.words, other.words, func(v, w word) bool {
		return v.text == w.text && v.constant == w.constant && slices.Equal(v.texts, w.texts)
	})
}

// noteList records words that are assigned to an array, or to the positional parameters of a function. Of a
// variable with more lists than maxTexts, none is known.
func (a *taintWalk) noteList(variable string, l wordList) {
	lists := a.lists[variable]
	for i := range lists {
		if lists[i].isSame(l) {
			lists[i] = l
			return
		}
	}
	if len(lists) <= maxTexts {
		a.lists[variable], a.changed = append(lists, l), true
	}
}

// listWords returns the lists of words that an array, or all positional parameters, can have.
func (a *taintWalk) listWords(variable string) (lists [][]word) {
	if len(a.lists[variable]) > maxTexts {
		return nil
	}
	for _, l := range a.lists[variable] {
		if !l.appends || len(lists) == 0 {
			lists = append(lists, l.words)
			continue
		}
		for i := range lists {
			lists[i] = append(slices.Clone(lists[i]), l.words...)
		}
	}
	if a.shifts && strings.HasPrefix(variable, "@") {
		for _, list := range lists {
			for i := range list {
				lists = append(lists, list[i+1:])
			}
		}
	}
	return lists
}

// commandWords returns the command lines that the words of a command can make.
func (a *taintWalk) commandWords(args []*syntax.Word, sc scope) [][]word {
	lines := [][]word{nil}
	for _, w := range args {
		choices := a.expansions(w, sc)
		if len(lines)*len(choices) > maxCommandLines {
			choices = [][]word{{a.describeWord(w, sc)}}
		}
		if len(choices) == 1 { // almost always: the lines grow in place
			for i := range lines {
				lines[i] = append(lines[i], choices[0]...)
			}
			continue
		}
		var longer [][]word
		for _, line := range lines {
			for _, words := range choices {
				longer = append(longer, slices.Concat(line, words))
			}
		}
		lines = longer
	}
	return lines
}

// expansions returns the lists of words that the shell can make of a word.
func (a *taintWalk) expansions(w *syntax.Word, sc scope) [][]word {
	split := &syntax.Word{Parts: w.Parts}
	if !syntax.SplitBraces(split) {
		return a.simpleExpansions(w, sc)
	}
	lists := [][]word{nil}
	count := 0
	for part, err := range expand.BracesSeq(nil, split) {
		if count++; err != nil || count > maxBraceWords {
			return [][]word{{a.describeWord(w, sc)}}
		}
		if len(part.Parts) == 0 || part.Lit() == "" && len(part.Parts) == 1 && staticText(part) == "" {
			continue
		}
		choices := a.simpleExpansions(part, sc)
		for i := range lists {
			lists[i] = append(lists[i], choices[0]...)
		}
	}
	for _, list := range lists {
		for i := range list {
			list[i].node = w
		}
	}
	return lists
}

// simpleExpansions is expansions for a word without braces.
func (a *taintWalk) simpleExpansions(w *syntax.Word, sc scope) [][]word {
	as := a.describeWord(w, sc)
	if as.constant {
		return [][]word{{as}}
	}
	if variable, ok := listVariable(w, sc); ok {
		if lists := a.listWords(variable); len(lists) > 0 && len(lists) <= maxTexts {
			return lists
		}
	}
	if as.level > trusted {
		return [][]word{{as}}
	}
	var choices [][]word
	for _, text := range as.texts {
		if !isConstant(text) {
			other := as
			other.texts = []string{text}
			choices = append(choices, []word{other})
			continue
		}
		words := []string{text}
		if isUnquoted(w) {
			words = strings.Fields(text)
		}
		var choice []word
		for _, text := range words {
			choice = append(choice, word{text: text, constant: true, taint: as.taint, node: w, texts: []string{text}})
		}
		choices = append(choices, choice)
	}
	return choices
}

// listVariable returns the name of the array, or the key of the positional parameters, that a word expands to
// several words.
func listVariable(w *syntax.Word, sc scope) (string, bool) {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return "", false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Slice != nil || p.Repl != nil || p.Excl || p.Length {
		return "", false
	}
	if name := p.Param.Value; name == "@" || name == "*" {
		return argsKey(sc.function), true
	}
	index, ok := p.Index.(*syntax.Word)
	return p.Param.Value, ok && (index.Lit() == "@" || index.Lit() == "*")
}

// isUnquoted reports whether the shell splits what a word expands.
func isUnquoted(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			return true
		}
		return false
	})
}
