package crowd

import (
	"bufio"
	"io"
)

// events reads the messages of an event stream.
type events struct {
	lines *bufio.Reader
	last  string // the id of the last event
}

func newEvents(body io.Reader) *events { return &events{lines: bufio.NewReaderSize(body, 1<<10)} }

// next returns the next message. Events that carry none are skipped.
func (e *events) next() ([]byte, error) {
	var data []byte
	for {
		line, err := e.lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		line = trimEnd(line)
		switch {
		case len(line) == 0 && len(data) > 0:
			return data, nil
		case len(line) > 5 && string(line[:5]) == "data:":
			data = append(data, trimStart(line[5:])...)
		case len(line) > 3 && string(line[:3]) == "id:":
			e.last = string(trimStart(line[3:]))
		}
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

func trimStart(line []byte) []byte {
	if len(line) > 0 && line[0] == ' ' {
		return line[1:]
	}
	return line
}
