package test

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
)

// junitReport is read by the CI systems that read JUnit's XML: a suite is a file. It has what the schema of Jenkins
// allows, and that of Ant for a report without skipped tests.
type junitReport struct {
	XMLName xml.Name      `xml:"testsuites"`
	Suites  []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Package    string          `xml:"package,attr"`
	ID         int             `xml:"id,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr,omitempty"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Hostname   string          `xml:"hostname,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Stdout     string          `xml:"system-out"`
	Stderr     string          `xml:"system-err"`

	seconds float64
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *string       `xml:"skipped"`
	Failure   *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// PrintJUnit writes a report as the XML of JUnit.
func (p *Printer) PrintJUnit(w io.Writer, r *Report) error {
	var out junitReport
	suites := map[string]*junitSuite{}
	for _, result := range r.Results {
		file := p.file(result.File())
		s := suites[file]
		if s == nil {
			s = &junitSuite{
				Name: file, Package: path.Dir(file), ID: len(out.Suites), Hostname: "localhost",
				Timestamp:  r.Began.UTC().Format("2006-01-02T15:04:05"),
				Properties: []junitProperty{{"seed", fmt.Sprint(r.Options.Seed)}},
			}
			suites[file], out.Suites = s, append(out.Suites, s)
		}
		s.Tests++
		s.seconds += result.Duration.Seconds()
		s.Time = seconds(s.seconds)
		c := junitCase{
			Name: result.Name, ClassName: file, Time: seconds(result.Duration.Seconds()),
		}
		switch result.Status {
		case Failed:
			s.Failures++
			first := result.Failures[0]
			c.Failure = &junitFailure{
				Message: first.Summary + ": " + first.Text(), Type: first.Summary,
				Text: p.details(result),
			}
		case Skipped:
			s.Skipped++
			reason := result.Reason
			c.Skipped = &reason
		case Missed: // JUnit has no failure that does not fail the run
			s.Skipped++
			reason := p.details(result)
			c.Skipped = &reason
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
