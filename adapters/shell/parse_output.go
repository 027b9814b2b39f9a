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
	"hatchel/internal/charset"
	"hatchel/internal/cut"
)

// format is how a value of the argument as reads standard output. It adds a member to the output.
type format struct {
	member string
	typ    *schema.Type
	// decode returns how many characters it has replaced. Its error is a phrase for the model that follows the name of
	// the program.
	decode func([]byte) (v any, replaced int, err error)
}

var formats = map[string]format{
	asJSON:      {"json", &schema.Type{Kind: schema.Any}, decodeJSON},
	asJSONLines: {"json", schema.ListOf(&schema.Type{Kind: schema.Any}), decodeJSONLines},
	asLines:     {"lines", schema.ListOf(&schema.Type{Kind: schema.String}), nil},
}

// readOutput adds what standard output contains to the output: of cut lines those before the cut.
func (b *block) readOutput(stdout *capture, secrets []string, call *adapters.Call, output map[string]any) error {
	f, isFormat := formats[b.As]
	if stdout.omitted() > 0 && (isFormat && f.decode != nil || b.As == asBytes) {
		return fmt.Errorf("wrote %s, but at most %s can be read as data; request less",
			hcl.Size(stdout.total), hcl.Size(stdout.limit))
	}
	if b.As == asBytes {
		output["stdout"] = value.Bytes(bytes.Clone(stdout.buf))
		return nil
	}
	text, bad := stdout.text(secrets)
	if bad != nil && (isFormat || call.Reads("stdout")) {
		return newEncodingError("text", bad, stdout)
	}
	guess := charset.GuessUTF16(text)
	if guess != "" && b.Encoding == "" && (isFormat || call.Reads("stdout")) {
		return &encodingError{fmt.Sprintf("wrote text that seems to be %s without a byte order mark; the tool must %s",
			guess, charset.UTF16Advice(guess))}
	}
	output["stdout"] = text
	switch {
	case !isFormat:
		return nil
	case f.decode == nil:
		if stdout.omitted() > 0 {
			text, _, _ = stdout.head(secrets)
			text = text[:strings.LastIndexByte(text, '\n')+1]
		}
		output[f.member] = adapters.SplitLines(text)
		return nil
	}
	v, replaced, err := f.decode([]byte(text))
	call.CountReplaced(replaced)
	output[f.member] = v
	return err
}

// encodingError reports the position at which output is not in its encoding.
type encodingError struct{ message string }

func (e *encodingError) Error() string { return e.message }

func newEncodingError(what string, bad *charset.Error, c *capture) error {
	advice := charset.Advice(c.buf, bad)
	return &encodingError{fmt.Sprintf("wrote %s that is %v; the tool must %s", what, bad, advice)}
}

func decodeJSON(text []byte) (v any, replaced int, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, 0, errors.New("wrote nothing, but JSON is expected")
	}
	v, replaced, err = value.DecodeLossy(text, nil)
	if err != nil {
		return nil, 0, newNotJSONError(err, text, 1)
	}
	return v, replaced, nil
}

func decodeJSONLines(text []byte) (v any, replaced int, err error) {
	list, number := []any{}, 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		v, n, err := value.DecodeLossy(line, nil)
		if err != nil {
			return nil, 0, newNotJSONError(err, line, number)
		}
		list, replaced = append(list, v), replaced+n
	}
	return list, replaced, nil
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
