package shell

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// format is how a value of the argument parse reads standard output. It adds a member to the output.
type format struct {
	member string
	typ    *schema.Type
	decode func([]byte) (any, error) // its error is a phrase for the model that follows the name of the program
}

var formats = map[string]format{
	parseJSON:      {"json", &schema.Type{Kind: schema.Any}, decodeJSON},
	parseJSONLines: {"json", schema.ListOf(&schema.Type{Kind: schema.Any}), decodeJSONLines},
	parseLines:     {"lines", schema.ListOf(&schema.Type{Kind: schema.String}), nil},
}

// parseOutput adds what standard output contains to the output: of cut lines those before the cut.
func (b *block) parseOutput(stdout *capture, secrets []string, output map[string]any) (err error) {
	f, ok := formats[b.Parse]
	switch {
	case !ok:
	case f.decode == nil: // lines of the text without secrets and invalid bytes
		text := output["stdout"].(string)
		if stdout.omitted() > 0 {
			text = strings.ToValidUTF8(stdout.head(secrets), "\uFFFD")
			text = text[:strings.LastIndexByte(text, '\n')+1]
		}
		output[f.member] = adapters.SplitLines(text)
	case stdout.omitted() > 0:
		return fmt.Errorf("wrote %s, but at most %s can be read as data; request less",
			hcl.Size(stdout.total), hcl.Size(stdout.limit))
	default:
		output[f.member], err = f.decode(stdout.buf)
	}
	return err
}

func decodeJSON(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("wrote nothing, but JSON is expected")
	}
	v, err := value.Decode(text)
	if err != nil {
		return nil, newNotJSONError(err, text, 1)
	}
	return v, nil
}

func decodeJSONLines(text []byte) (any, error) {
	list, number := []any{}, 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		v, err := value.Decode(line)
		if err != nil {
			return nil, newNotJSONError(err, line, number)
		}
		list = append(list, v)
	}
	return list, nil
}

// notJSONError reports the position at which output is not JSON.
type notJSONError struct {
	message string
	excerpt string // the text there, on one line; it may contain a part of a secret
}

func (e *notJSONError) Error() string { return e.message }

// maxExcerptRunes limits the excerpt of a notJSONError.
const maxExcerptRunes = 60

// newNotJSONError makes the error for a text that begins at a line of the output.
func newNotJSONError(err error, text []byte, line int) error {
	var syntaxErr *value.SyntaxError
	if !errors.As(err, &syntaxErr) {
		return errors.New("wrote something that is not JSON")
	}
	at := min(syntaxErr.Offset, len(text))
	before := text[:at]
	line += bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	excerpt := adapters.Sanitize(string(text[at:min(at+4*maxExcerptRunes, len(text))]), nil)
	message := fmt.Sprintf("wrote something that is not JSON: line %d, column %d: %s", line, column, syntaxErr.Reason)
	return &notJSONError{message, cut.Runes(excerpt, maxExcerptRunes)}
}
