package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"hatchel/hcl/schema"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

// AssetNames returns the names of all assets.
func AssetNames() []string {
	files, _ := assets()
	return slices.Sorted(maps.Keys(files))
}

// RoundTrip returns the arguments of a form that arguments have filled in. It reports false for arguments that the
// fields cannot express.
func RoundTrip(input *schema.Type, arguments []byte) (back []byte, problems, ok bool) {
	posted, ok := fill(input, arguments)
	if !ok {
		return nil, false, false
	}
	form, _ := newForm(input, posted)
	back = form.arguments()
	return back, form.hasProblems(), true
}

// ArgumentsOf returns the arguments of a form that was posted, and the problems of its fields.
func ArgumentsOf(input *schema.Type, posted url.Values) (arguments string, problems []string) {
	form, _ := newForm(input, posted)
	arguments = string(form.arguments())
	form.each(func(f *field) { problems = append(problems, f.Problems...) })
	return arguments, problems
}

// CountAttempts returns how many of the wrong keys of addresses are tried in a minute.
func CountAttempts(addresses, keys int) (tried int) {
	var a attempts
	now := time.Now()
	for i := range addresses {
		for range keys {
			if _, ok := a.take(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), now); ok {
				tried++
			}
		}
	}
	return tried
}

// SessionCookie returns the value of the cookie of a session of a sign-in at a time.
func SessionCookie(h *runtime.Host, i *mcp.Identity, signIn string, renewed time.Time) (string, error) {
	key, err := h.Operator().State.ConsoleKey(context.Background())
	if err != nil {
		return "", err
	}
	s := newSession(i, time.Hour, time.Now())
	s.SignIn, s.Renewed, s.Seen = signIn, renewed, time.Now()
	plain, err := json.Marshal(s)
	return mcp.NewSealer(key).Seal(plain, cookieUse), err
}

// RenewedAt returns when the provider was asked for the session of a cookie.
func RenewedAt(h *runtime.Host, cookie string) (time.Time, error) {
	key, err := h.Operator().State.ConsoleKey(context.Background())
	if err != nil {
		return time.Time{}, err
	}
	var s session
	plain, _ := mcp.NewSealer(key).Open(cookie, cookieUse)
	err = json.Unmarshal(plain, &s)
	return s.Renewed, err
}

// StreamLife returns how long a stream lasts in a session of a sign-in for which the provider was asked some time ago.
func StreamLife(asked time.Duration) time.Duration {
	now := time.Now()
	s := newSession(nil, 8*time.Hour, now)
	s.SignIn, s.Renewed = "ID", now.Add(-asked)
	return s.streamEnds().Sub(now)
}

// Table, TableRow, TableColumn and NewTable are for tests of tables.
type (
	Table       = table
	TableRow    = tableRow
	TableColumn = tableColumn
)

var NewTable = newTable
