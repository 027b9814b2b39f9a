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

// parse adds to out what standard output holds. Its error is a sentence for the model that goes on after the name of the program.
func (b *block) parse(kept *capture, out map[string]any) (err error) {
	if b.Parse == asText {
		return nil
	}
	if kept.cut() > 0 {
		return fmt.Errorf("wrote %s, and at most %s can be read as data; ask for less", hcl.Size(kept.total), hcl.Size(kept.limit))
	}
	switch b.Parse {
	case asJSON:
		out["json"], err = parseJSON(kept.buf)
	case asJSONLines:
		out["json"], err = parseJSONLines(kept.buf)
	case asLines:
		out["lines"] = lines(out["stdout"].(string))
	}
	return err
}

func parseJSON(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("wrote nothing, where JSON is expected")
	}
	v, err := value.Decode(text)
	if err != nil {
		return nil, notJSON(err, text, 1)
	}
	return v, nil
}

func parseJSONLines(text []byte) (any, error) {
	list, number := []any{}, 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		v, err := value.Decode(line)
		if err != nil {
			return nil, notJSON(err, line, number)
		}
		list = append(list, v)
	}
	return list, nil
}

// A notJSONError says where output stops being JSON.
type notJSONError struct {
	message string
	shown   string // what stands there, on one line; it may hold a part of a secret
}

func (e *notJSONError) Error() string { return e.message }

// shownRunes is how much of a place that is not JSON is shown.
const shownRunes = 60

// notJSON says where text, which begins at a line, stops being JSON.
func notJSON(err error, text []byte, line int) error {
	var wrong *value.SyntaxError
	if !errors.As(err, &wrong) {
		return errors.New("wrote something that is not JSON")
	}
	at := min(wrong.Offset, len(text))
	before := text[:at]
	line += bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &notJSONError{
		message: fmt.Sprintf("wrote something that is not JSON: line %d, column %d: %s", line, column, wrong.What),
		shown:   adapters.Head(adapters.Said(string(text[at:min(at+4*shownRunes, len(text))]), nil), shownRunes),
	}
}

// lines are the lines of a text without their ends.
func lines(text string) []any {
	list := []any{}
	for line := range strings.Lines(text) {
		list = append(list, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return list
}
