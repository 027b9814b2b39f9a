package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
	output "hatchel/runtime/stage/result"
)

// resultMeta is what a command reads of the metadata of a result.
type resultMeta = output.Meta

// printResult prints the result of a call, as JSON or as text, and returns its text and, in a sentence, the failures
// after which the call went on. With asJSON the standard error of
// programs is a member of the result, if there is any: an encoded object, or nil. The error is a phrase.
func printResult(w io.Writer, out mcp.Outcome, asJSON bool, stderr []byte) (text, failures string, err error) {
	result := out.AppendResult(nil, mcp.Revision20260728)
	var decoded struct {
		Content []console.Content
		Meta    output.Meta `json:"_meta"`
	}
	if err := json.Unmarshal(result, &decoded); err != nil {
		return "", "", fmt.Errorf("the result cannot be decoded: %w", err)
	}
	var texts strings.Builder
	for _, c := range decoded.Content {
		texts.WriteString(c.Text)
		if !asJSON {
			c.Print(console.ForTerminal(w))
		}
	}
	if asJSON {
		if stderr != nil {
			result = fmt.Appendf(result[:len(result)-1], `,"stderr":%s}`, stderr)
		}
		fmt.Fprintf(w, "%s\n", printable.EscapeJSON(result))
	}
	return texts.String(), decoded.Meta.String(), nil
}
