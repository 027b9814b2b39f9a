package file

import (
	"errors"
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
)

// newEncodingFault returns the fault for text that is not in its encoding. before is the text up to there.
func newEncodingFault(bad *charset.Error, before []byte, path string) error {
	return &adapters.Fault{Cause: bad, Message: fmt.Sprintf("this is %v; the tool must %s: %s", bad,
		charset.Advice(before, bad), path)}
}

// newUTF16Fault returns the fault for text that seems to be UTF-16 without a byte order mark.
func newUTF16Fault(name, path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("this seems to be %s without a byte order mark; the tool must %s: %s",
		name, charset.UTF16Advice(name), path)}
}

func decodeJSON(text, path string, call *adapters.Call) (any, error) {
	v, replaced, err := value.DecodeLossy([]byte(text), nil)
	call.CountReplaced(replaced)
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) {
		message := fmt.Sprintf("this is not JSON, at byte %d: %s", syntax.Offset, syntax.Reason)
		if guess := charset.GuessUTF16(text); guess != "" {
			message += fmt.Sprintf("; the tool must name the encoding: encoding = %q", guess)
		}
		return nil, &adapters.Fault{Message: message + ": " + path, Cause: err}
	}
	return v, err
}
