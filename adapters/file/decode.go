package file

import (
	"errors"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
)

// newEncodingFault returns the fault for text that is not in its encoding. before is the text up to there.
func newEncodingFault(bad *charset.Error, before []byte, path string) error {
	return &adapters.Fault{Cause: bad, Message: fmt.Sprintf("this is %v; the tool must %s: %s", bad,
		charset.Advice(before, bad.Encoding), path)}
}

func decodeJSON(text, path string, call *adapters.Call) (any, error) {
	v, replaced, err := value.DecodeLossy([]byte(text), nil)
	call.CountReplaced(replaced)
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) {
		message := fmt.Sprintf("this is not JSON, at byte %d: %s", syntax.Offset, syntax.Reason)
		if guess := charset.Guess([]byte(text)); strings.HasPrefix(guess, "utf-16") {
			message += fmt.Sprintf("; the tool must name the encoding: encoding = %q", guess)
		}
		return nil, &adapters.Fault{Message: message + ": " + path, Cause: err}
	}
	return v, err
}
