package tester

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// A junitReport is read by the CI systems that read JUnit's XML: a suite is a file.
type junitReport struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Time     string        `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`

	seconds float64
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int           `xml:"line,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Skipped   *junitSkipped `xml:"skipped"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// PrintJUnit writes a report as the XML of JUnit.
func (p *Printer) PrintJUnit(w io.Writer, r *Report) error {
	out := junitReport{Tests: len(r.Results), Failures: r.Count(Failed), Time: seconds(r.Duration.Seconds())}
	suites := map[string]*junitSuite{}
	for _, result := range r.Results {
		file := p.file(result.File())
		s := suites[file]
		if s == nil {
			s = &junitSuite{Name: file}
			suites[file], out.Suites = s, append(out.Suites, s)
		}
		s.Tests++
		s.seconds += result.Duration.Seconds()
		s.Time = seconds(s.seconds)
		c := junitCase{
			Name: printable(result.Name), ClassName: file, File: file, Line: result.Range.Start.Line,
			Time: seconds(result.Duration.Seconds()),
		}
		switch result.Status {
		case Failed:
			s.Failures++
			first := result.Failures[0]
			c.Failure = &junitFailure{
				Message: printable(first.Summary + ": " + first.Detail), Type: first.Summary,
				Text: printable(p.details(result)),
			}
		case Skipped:
			s.Skipped++
			c.Skipped = &junitSkipped{printable(result.Reason)}
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// printable replaces what XML cannot hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, text)
}
