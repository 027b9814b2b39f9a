package test

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"hatchel/hcl/value"
	"hatchel/internal/tokens"
	"hatchel/runtime/stage/result"
)

// answerBudget is the rule of an answer that takes more tokens than it should, and defaultBudget the maximum of a tool
// without max_tokens: Claude Code warns above it.
const (
	answerBudget  = "answer-budget"
	defaultBudget = 10_000
)

// answerTokens is how many tokens an answer of a tool takes, estimated.
type answerTokens struct {
	own  int // as it is sent
	json int // of its result as JSON
}

// readTokens adds the tokens of the answer that was read, unless it is an error.
func (r *running) readTokens() error {
	if r.out.failed {
		return nil
	}
	texts := make([]string, 0, len(r.out.content)) // joined as a model reads them
	for _, c := range r.out.content {
		if block, _ := c.(map[string]any); block != nil {
			text, _ := block["text"].(string)
			texts = append(texts, text)
		}
	}
	var structured []byte
	if r.out.structured {
		var err error
		if structured, err = value.AppendJSON(nil, r.out.result); err != nil {
			return fmt.Errorf("the result cannot be encoded as JSON: %w", err)
		}
	}
	own := result.AnswerTokens(texts, structured)
	a := answerTokens{own: own, json: own}
	if r.answer != nil {
		a.json = tokens.Estimate(string(r.answer))
	}
	r.answers = append(r.answers, a)
	return nil
}

// checkBudget reports an answer that takes more tokens than the tool or the command line allows.
func (c *checker) checkBudget(out *Result, most int) {
	if c.Kind != "tool" {
		return
	}
	for _, a := range c.answers {
		limit, of := c.Tool.MaxTokens, "max_tokens"
		if limit == 0 {
			limit, of = defaultBudget, "the maximum of a tool without max_tokens"
		}
		switch {
		case most > 0 && a.own > most:
			c.fail(c.Range, "Answer over budget", "The answer takes ≈ %d tokens, and --max-answer-tokens is %d (%s).",
				a.own, most, answerBudget)
		case a.own > limit:
			out.Warnings.Warnf(c.Range, "Answer over budget", "The answer takes ≈ %d tokens, and %d are %s (%s). "+
				"format = \"csv\", projection and page make it smaller.", a.own, limit, of, answerBudget)
		default:
			continue
		}
		return
	}
}

// AnswerTokens is how many tokens the answers of a tool take in its tests, estimated.
type AnswerTokens struct {
	Tool       string `json:"tool"`
	Answers    int    `json:"answers"`
	Median     int    `json:"median"`
	Max        int    `json:"max"`
	JSONMedian int    `json:"json_median"`
	JSONMax    int    `json:"json_max"`
}

// Tokens returns the tokens of the tools whose tests have passed with an answer that is no error, in the order of their
// names.
func (r *Report) Tokens() []AnswerTokens {
	own, asJSON := map[string][]int{}, map[string][]int{}
	for _, result := range r.Results {
		for _, a := range result.answers {
			own[result.Target] = append(own[result.Target], a.own)
			asJSON[result.Target] = append(asJSON[result.Target], a.json)
		}
	}
	out := make([]AnswerTokens, 0, len(own))
	for name, n := range own {
		out = append(out, AnswerTokens{
			name, len(n), median(n), slices.Max(n), median(asJSON[name]), slices.Max(asJSON[name]),
		})
	}
	slices.SortFunc(out, func(a, b AnswerTokens) int { return strings.Compare(a.Tool, b.Tool) })
	return out
}

// median returns the number in the middle, or the mean of the two.
func median(numbers []int) int {
	slices.Sort(numbers)
	n := len(numbers)
	return (numbers[(n-1)/2] + numbers[n/2]) / 2
}

// PrintTokens writes a line for each tool with an answer.
func PrintTokens(w io.Writer, all []AnswerTokens) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "≈ tokens\tmax\tas JSON\tmax\tanswers\t")
	for _, t := range all {
		fmt.Fprintf(out, "%d\t%d\t%d\t%d\t%d\t  %s\n", t.Median, t.Max, t.JSONMedian, t.JSONMax, t.Answers, t.Tool)
	}
	return out.Flush()
}

// TokensOf returns the median and the maximum of a tool as texts; "-" for a tool without an answer.
func TokensOf(all []AnswerTokens, tool string) (median, most string) {
	for _, t := range all {
		if t.Tool == tool {
			return strconv.Itoa(t.Median), strconv.Itoa(t.Max)
		}
	}
	return "-", "-"
}
