package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// request is what the helper of programs starts.
type request struct {
	file, dir string
	argv, env []string
}

// requestHeader precedes the texts of a request, each of which ends with a NUL: the file, the directory, the
// arguments and the environment. Size is their length.
type requestHeader struct{ Argv, Env, Size uint32 }

// maxRequest is the maximum size of a request, which exceeds what the kernel accepts (see execve(2)).
const maxRequest = 64 << 20

// write writes the request, or returns the errno with which the kernel refuses such a program.
func (q request) write(w io.Writer) error {
	texts := append(append([]string{q.file, q.dir}, q.argv...), q.env...)
	size := 0
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 {
			return unix.EINVAL
		}
		size += len(s) + 1
	}
	if size > maxRequest {
		return unix.E2BIG
	}
	var b bytes.Buffer
	b.Grow(size + binary.Size(requestHeader{}))
	header := requestHeader{uint32(len(q.argv)), uint32(len(q.env)), uint32(size)}
	if err := binary.Write(&b, binary.NativeEndian, header); err != nil {
		return err
	}
	for _, s := range texts {
		b.WriteString(s)
		b.WriteByte(0)
	}
	_, err := w.Write(b.Bytes())
	return err
}

var errNoAnswer = errors.New("the process that starts programs does not answer")

var errMalformedRequest = errors.New("the request is malformed")

func readRequest(r io.Reader) (request, error) {
	var h requestHeader
	if err := binary.Read(r, binary.NativeEndian, &h); err != nil {
		return request{}, err
	}
	if h.Size > maxRequest {
		return request{}, errMalformedRequest
	}
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		return request{}, err
	}
	texts := strings.Split(string(data), "\x00")
	argv, end := 2, len(texts)-1
	env := argv + int(h.Argv)
	if env+int(h.Env) != end {
		return request{}, errMalformedRequest
	}
	return request{file: texts[0], dir: texts[1], argv: texts[argv:env], env: texts[env:end]}, nil
}

// status is what the helper of programs answers: that the program was started, and later that it has exited.
type status struct {
	PID   int32 // of the program; 0: it was not started
	Value int32 // an errno, or the exit status
}

func (s status) write(w io.Writer) error { return binary.Write(w, binary.NativeEndian, s) }

func readStatus(r io.Reader) (s status, err error) {
	if binary.Read(r, binary.NativeEndian, &s) != nil {
		err = errNoAnswer
	}
	return s, err
}
