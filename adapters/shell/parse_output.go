package shell

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// parseOutput adds what standard output contains to the output. The error is a phrase for the model
// that follows the name of the program.
func (b *block) parseOutput(stdout *capture, output map[string]any) (err error) {
	if b.Parse == parseText {
		return nil
	}
	if stdout.omitted() > 0 {
		return fmt.Errorf("wrote %s, but at most %s can be read as data; request less",
			hcl.Size(stdout.total), hcl.Size(stdout.limit))
	}
	switch b.Parse {
	case parseJSON:
		output["json"], err = decodeJSON(stdout.buf)
	case parseJSONLines:
		output["json"], err = decodeJSONLines(stdout.buf)
	case parseLines:
		output["lines"] = splitLines(output["stdout"].(string))
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
	return &notJSONError{
		message: fmt.Sprintf("wrote something that is not JSON: line %d, column %d: "+
			"%s", line, column, syntaxErr.Reason),
		excerpt: adapters.FirstRunes(excerpt, maxExcerptRunes),
	}
}

// splitLines returns the lines of a text without their line ends.
func splitLines(text string) []any {
	list := []any{}
	for line := range strings.Lines(text) {
		list = append(list, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return list
}
