package legacy

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// errTaken reports that another request of the client is about to continue the same call here.
var errTaken = errors.New("another request continues the call")

// continueSuspended continues the call that has waited for people in a stream of a process that has stopped
// or died, for the client that has returned for it, and reports true when it has ended. Otherwise it returns
// where the rest of the stream is, if it is anywhere.
func (s *Server) continueSuspended(
	w http.ResponseWriter, r *http.Request, sess *session, info *mcp.Info, pos position,
) (rest position, done bool, err error) {
	for pos.stream != 0 && s.relay.KeepsCalls() && !sess.isHere(pos) {
		call, record, err := s.relay.LoadCall(r.Context(), sess.name, pos.streamName())
		switch {
		case call == nil || err != nil:
			return pos, false, err
		case call.Continues != nil:
			left := pos
			pos = beginningOf(*call.Continues, pos)
			if again, err := s.mayTakeAgain(r.Context(), sess, call); err != nil {
				return left, false, err
			} else if !again {
				continue
			}
		case !call.Released:
			if ended, err := s.relay.HasEnded(r.Context(), pos.process); !ended || err != nil {
				return pos, false, err
			}
		}
		memory, err := s.core.ReserveText(r, len(record.Body)+len(call.Request))
		if err != nil {
			return pos, false, err // the client returns later
		}
		defer memory.Release()
		p, invalid := mcp.Parse(call.Request, s.options.MaxDepth)
		if invalid != nil {
			return pos, false, invalid
		}
		defer p.Release()
		resp := &response{server: s, session: sess, packet: p, suspended: call}
		resp.Response = s.core.NewEventResponse(w, r, sess.toolset, info, memory)
		resp.Keep(resp)
		taken, err := resp.takeSuspended(r.Context(), record)
		if err != nil {
			return pos, false, err
		}
		if taken {
			resp.serveSuspended(pos.seq)
			return pos, true, nil
		}
	}
	return pos, false, nil
}

// mayTakeAgain reports whether the process that has taken a call has ended before the call went on there. The order
// of the checks matters: a process that has ended stores nothing any more.
func (s *Server) mayTakeAgain(ctx context.Context, sess *session, call *handover.Call) (bool, error) {
	if !call.Taking {
		return false, nil
	}
	if ended, err := s.relay.HasEnded(ctx, call.Continues.Process); !ended || err != nil {
		return false, err
	}
	next, _, err := s.relay.LoadCall(ctx, sess.name, *call.Continues)
	return next == nil, err
}

// takeSuspended takes the call, so that it continues in a new stream. Only one of
// several processes takes it. Answers of the client arrive here from then on.
func (resp *response) takeSuspended(ctx context.Context, record handover.StoredCall) (taken bool, err error) {
	sess, call := resp.session, resp.suspended
	call.Released = call.Released && !call.Taking // an answer may have died with the process that has taken the call
	for _, q := range call.Asked {
		i := slices.IndexFunc(resp.asked, func(first askedQuestion) bool { return first.key == q.Key })
		if i >= 0 { // asked several times
			sess.questions.alias(q.ID, resp.asked[i].id)
			continue
		}
		response, ok := sess.questions.adopt(q.ID)
		if !ok {
			err = errTaken
			break
		}
		resp.asked = append(resp.asked, askedQuestion{q.Key, q.ID, response, !call.Released})
	}
	if err == nil {
		resp.stream = sess.log.openStream(resp.packet.RequestIDs())
		in := resp.streamName()
		call.Continues, call.Taking = &in, true
		if taken, err = sess.server.relay.SaveCall(ctx, sess.name, record, call); taken && err == nil {
			record.Version++
			resp.from = sess.server.relay.TakenRecord(sess, call, record)
			return true, nil
		}
		sess.log.endStream(resp.stream)
	}
	return false, errors.Join(err, resp.server.abandonAsked(ctx, sess, resp.asked))
}

// serveSuspended continues a call that was taken. The client has seen the events up to a number.
func (resp *response) serveSuspended(seen uint64) {
	resp.StartStream()
	for _, q := range resp.suspended.Asked {
		switch {
		case q.IsAnswered():
			resp.session.questions.resolve(q.ID, q.Response())
		case resp.suspended.Released && q.Seq > seen:
			resp.Notify(q.Frame)
		}
	}
	http.NewResponseController(resp.Writer).Flush()
	resp.StartKeepAlive()
	frame, _ := resp.server.replyToPeer(resp, &resp.packet.Messages[0], &resp.session.peer, nil, nil)
	for _, q := range resp.asked { // the call may have ended without them
		resp.session.questions.remove(q.id)
	}
	resp.Finish(frame, http.StatusOK)
}

// wasSuspended reports whether the call of a stream was suspended, so that the client is to return for it.
// While the store is unavailable it reports true: the call is looked up again when the client returns.
func (s *Server) wasSuspended(ctx context.Context, sess *session, pos position) bool {
	if !s.relay.KeepsCalls() {
		return false
	}
	call, _, err := s.relay.LoadCall(ctx, sess.name, pos.streamName())
	return call != nil || err != nil
}

// beginningOf returns the beginning of a stream, whose client has left another one.
func beginningOf(n handover.StreamName, left position) position {
	return position{eventID: eventID{n.Stream, 0}, process: n.Process, serial: n.Serial, requests: left.requests}
}

func (pos position) streamName() handover.StreamName {
	return handover.StreamName{Process: pos.process, Serial: pos.serial, Stream: pos.stream}
}
