package legacy

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// position is where a stream was left, as the id of an event says: the reference of the stream, a
// full stop, and the number of the event. The reference is sealed for the session, and says what any
// process needs to know of a stream of another one.
type position struct {
	eventID
	process  string // that has the stream
	serial   uint64 // of the session in that process
	requests []byte // whose replies the stream has: an array of their ids as encoded JSON, or nil
}

// maxReferenceRequests is how many bytes of ids of requests are in a reference.
const maxReferenceRequests = 1 << 10

// streamReference returns the reference of a stream of this process.
func (sess *session) streamReference(stream uint64, requests []byte) string {
	return sess.reference(position{
		eventID: eventID{stream: stream},
		process: sess.server.relay.ProcessName(), serial: sess.serial, requests: requests,
	})
}

// reference returns a new reference of the stream of a position. A larger batch is left out.
func (sess *session) reference(pos position) string {
	plain := make([]byte, 0, 17+len(pos.process)+len(pos.requests))
	plain = binary.BigEndian.AppendUint64(plain, pos.serial)
	plain = binary.BigEndian.AppendUint64(plain, pos.stream)
	plain = append(append(plain, byte(len(pos.process))), pos.process...)
	if len(pos.requests) <= maxReferenceRequests {
		plain = append(plain, pos.requests...)
	}
	return sess.table.sealer.Seal(plain, "event\n"+string(sess.name[:]))
}

// parsePosition parses the id of an event of the session, of this process or another one.
func (sess *session) parsePosition(id string) (pos position, ok bool) {
	ref, number, _ := strings.Cut(id, ".")
	seq, err := strconv.ParseUint(number, 10, 64)
	plain, ok := sess.table.sealer.Open(ref, "event\n"+string(sess.name[:]))
	if err != nil || !ok {
		return pos, false
	}
	process, requests := plain[17:17+plain[16]], plain[17+plain[16]:]
	return position{
		eventID: eventID{binary.BigEndian.Uint64(plain[8:]), seq}, serial: binary.BigEndian.Uint64(plain),
		process: string(process), requests: nonEmpty(requests),
	}, true
}

// isHere reports whether the session of this process has the stream.
func (sess *session) isHere(pos position) bool {
	return pos.process == sess.server.relay.ProcessName() && pos.serial == sess.serial
}

// questionPrefix begins the ids of questions. The ids of clients are usually numbers, and some clients
// confuse them with those of the server.
const questionPrefix = "ask-"

// newQuestionID returns the id of a question to the client: it names the process that waits for the
// answer, sealed for the session, and cannot be guessed.
func (sess *session) newQuestionID() string {
	process := []byte(sess.server.relay.ProcessName())
	return questionPrefix + sess.table.sealer.Seal(process, "question\n"+string(sess.name[:]))
}

// AskingProcess returns the process that has asked a question of the session, or "".
func (sess *session) AskingProcess(id string) string {
	sealed, _ := strings.CutPrefix(id, questionPrefix)
	process, _ := sess.table.sealer.Open(sealed, "question\n"+string(sess.name[:]))
	return string(process)
}
