package functions

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

func dateFunctions() []Function {
	at := param("time", String)
	now := New("timestamp", "Gives the present time in UTC, as RFC 3339.", nil, fixed(String), timestamp)
	now.CallOnly = true
	return []Function{
		now,
		New("timeadd", `Adds a duration such as "-24h" or "1h30m" to a time.`, params(at, param("duration", String)), fixed(String), timeAdd),
		New("timecmp", "Gives -1, 0 or 1 when the first time is earlier than, the same as or later than the second.", params(at, param("other time", String)), fixed(Integer), timeCompare),
		New("formatdate", `Writes a time in a form such as "YYYY-MM-DD hh:mm:ss"; text stands in single quotes; the form comes first.`, params(param("form", String), at), fixed(String), formatDate),
	}
}

func timestamp(c *Context, _ []any) (any, error) {
	t, err := c.now()
	if err != nil {
		return nil, err
	}
	return t.UTC().Format(time.RFC3339), nil
}

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is not a time in the form 2006-01-02T15:04:05Z", clip(s))
	}
	return t, nil
}

func timeAdd(_ *Context, a []any) (any, error) {
	t, err := parseTime(a[0].(string))
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(a[1].(string))
	if err != nil {
		return nil, fmt.Errorf(`%q is not a duration such as "90m" or "-24h"`, clip(a[1].(string)))
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

// What a run of one letter means in a form, as a layout of package time.
var dateParts = map[string]string{
	"YYYY": "2006", "YY": "06",
	"MMMM": "January", "MMM": "Jan", "MM": "01", "M": "1",
	"DD": "02", "D": "2",
	"EEEE": "Monday", "EEE": "Mon",
	"hh": "15", "HH": "03", "H": "3",
	"AA": "PM", "aa": "pm",
	"mm": "04", "m": "4", "ss": "05", "s": "5",
	"ZZZZZ": "-07:00", "ZZZZ": "-0700", "Z": "Z07:00",
}

func formatDate(c *Context, a []any) (any, error) {
	form := a[0].(string)
	t, err := parseTime(a[1].(string))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for form != "" {
		if form[0] == '\'' {
			text, rest, err := quoted(form[1:])
			if err != nil {
				return nil, err
			}
			b.WriteString(text)
			form = rest
			continue
		}
		run := form[:len(form)-len(strings.TrimLeft(form, form[:1]))]
		form = form[len(run):]
		part, err := datePart(t, run)
		if err != nil {
			return nil, err
		}
		b.WriteString(part)
	}
	return c.text(b.String())
}

func datePart(t time.Time, run string) (string, error) {
	switch run {
	case "h": // package time has no hour of 24 without a leading zero
		return fmt.Sprint(t.Hour()), nil
	case "ZZZ":
		if _, offset := t.Zone(); offset == 0 {
			return "UTC", nil
		}
		return t.Format("-0700"), nil
	}
	if layout, ok := dateParts[run]; ok {
		return t.Format(layout), nil
	}
	if letter := run[0] | 0x20; letter >= 'a' && letter <= 'z' {
		return "", fmt.Errorf("the form has no part %q; text stands in single quotes", clip(run))
	}
	return run, nil
}

// quoted reads text up to a single quote; two of them stand for one.
func quoted(s string) (text, rest string, err error) {
	var b strings.Builder
	for {
		part, after, found := strings.Cut(s, "'")
		if !found {
			return "", "", errors.New("a single quote in the form is not closed")
		}
		b.WriteString(part)
		if !strings.HasPrefix(after, "'") {
			return b.String(), after, nil
		}
		b.WriteByte('\'')
		s = after[1:]
	}
}
