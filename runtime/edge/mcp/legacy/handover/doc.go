// Package handover turns the end of a process into the continuation of its calls in another one: what processes keep of
// the sessions of clients, and the messages that they send each other about them. It stores calls that wait for people,
// passes answers on to the process that has the call, and resumes event streams of other processes.
package handover
