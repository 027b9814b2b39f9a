package importer

import (
	"slices"
	"strings"

	"hatchel/cmd/hatchel/lint/injection"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// Describe returns a text of the source for models: on one line, without back quotes, credentials and characters that a
// reviewer cannot see, at most max bytes. A text that instructs models is reduced to its first sentence, or to nothing
// if that instructs them, too. Each is a loss of name; what is the text, such as "the comment of amount".
func (r *Result) Describe(name, what, text, origin string, max int) string {
	if printable.HasHidden(text) {
		r.Lose(name, "text cleaned", what+" has characters that a reviewer cannot see", origin)
	}
	if ContainsCredential(text) {
		r.Lose(name, "text cleaned", what+" has a part with the form of a credential", origin)
	}
	if Steers(text) {
		r.Lose(name, "text shortened", what+" instructs models", origin)
		if text = firstSentence(text); Steers(text) {
			text = ""
		}
	}
	return Sentence(strings.ReplaceAll(text, "`", "'"), max)
}

// Steers reports whether a text has a phrase that instructs models beyond the tool that it describes.
func Steers(text string) bool { return len(injection.Steering(text)) > 0 }

// stringLiteral matches the texts of a block.
var stringLiteral = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)

// firstSentence returns the text up to its first full stop or line break.
func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	for i, r := range text {
		if r == '\n' || strings.ContainsRune(".!?", r) && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n') {
			return text[:i+1]
		}
	}
	return text
}

// Heredoc returns a template as a heredoc. Its mark is the given one, made longer until it is no line of the text.
func Heredoc(mark, text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == mark }) {
		mark += "_"
	}
	return "<<-" + mark + "\n      " + strings.Join(lines, "\n      ") + "\n    " + mark + "\n"
}
