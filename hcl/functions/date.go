package functions

import (
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"hatchel/hcl/jsonscan"
)

func timestamp(c *Context, _ []any) (any, error) {
	if c.Now == nil {
		return nil, errors.New("the current time is available only during a call")
	}
	return c.Now().UTC().Format(time.RFC3339), nil
}

// maxTime is the maximum length of a time and of a duration.
const maxTime = 256

var errTooLong = fmt.Errorf("it is longer than %d bytes", maxTime)

func parseTime(s string) (time.Time, error) {
	var t time.Time
	err := errTooLong
	if len(s) <= maxTime { // the error of the parser quotes the text
		t, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		return t, fmt.Errorf(`%q is not an RFC 3339 time such as "2006-01-02T15:04:05Z"`, jsonscan.Excerpt(s))
	}
	return t, nil
}

func timeAdd(_ *Context, a []any) (any, error) {
	t, err := parseTime(a[0].(string))
	if err != nil {
		return nil, err
	}
	d, err := time.Duration(0), errTooLong
	if len(a[1].(string)) <= maxTime {
		d, err = time.ParseDuration(a[1].(string))
	}
	if err != nil {
		return nil, fmt.Errorf(`%q is not a duration such as "90m" or "-24h"`, jsonscan.Excerpt(a[1].(string)))
	}
	t = t.Add(d)
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, errors.New("the year of the result is not between 0 and 9999")
	}
	return t.Format(time.RFC3339), nil
}

func timeCompare(_ *Context, a []any) (any, error) {
	t, err := parseTime(a[0].(string))
	if err != nil {
		return nil, err
	}
	u, err := parseTime(a[1].(string))
	if err != nil {
		return nil, err
	}
	return t.Compare(u), nil
}

// maxLayout is the maximum length of a layout. The library drops the rest of a layout after a
// quoted text of 64 KiB.
const maxLayout = 4096

func formatDate(c *Context, a []any) (any, error) {
	layout := a[0].(string)
	if len(layout) > maxLayout {
		return nil, fmt.Errorf("the layout is longer than %d bytes", maxLayout)
	}
	t, err := parseTime(a[1].(string))
	if err != nil {
		return nil, err
	}
	formatted, err := stdlib.FormatDate(cty.StringVal(layout), cty.StringVal(t.Format(time.RFC3339)))
	if err != nil {
		return nil, err
	}
	return c.text(formatted.AsString())
}
