// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// resolver resolves names for the template function getHostByName by requests to the caller, since
// a worker process has no network. The function calls the net package, which sends DNS messages
// over connections of a Dial function.
type resolver struct {
	// ask is that of the call that runs; nil if none runs or if names may not be resolved.
	ask atomic.Pointer[worker.Ask]
}

// install makes the resolver that of the process.
func (r *resolver) install() { net.DefaultResolver = r.resolver() }

func (r *resolver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go r.serve(server)
		return client, nil
	}}
}

// resolveTimeout limits the life of a connection. The net package gives up earlier.
const resolveTimeout = time.Minute

// serve answers the messages of a connection. Each follows its length, as in DNS over TCP.
func (r *resolver) serve(conn net.Conn) {
	defer func() {
		_ = recover() // a panic would end the process
		_ = conn.Close()
	}()
	_ = conn.SetDeadline(time.Now().Add(resolveTimeout)) //nolint:forbidigo // a worker process has a clock of its own
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		message, err := r.respond(query)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)); err != nil {
			return
		}
	}
}

var errQuestion = errors.New("the message has no question")

// respond returns the response to a message. A name that cannot be resolved does not exist.
func (r *resolver) respond(query []byte) ([]byte, error) {
	var in dnsmessage.Message
	if err := in.Unpack(query); err != nil {
		return nil, err
	}
	if len(in.Questions) == 0 {
		return nil, errQuestion
	}
	question := in.Questions[0]
	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: in.ID, Response: true, RecursionAvailable: true, RecursionDesired: in.RecursionDesired},
		Questions: in.Questions[:1],
	}
	addresses, err := r.lookUp(strings.TrimSuffix(question.Name.String(), "."))
	if err != nil {
		out.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, Type: question.Type}
		switch {
		case question.Type == dnsmessage.TypeA && a.Is4():
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
		case question.Type == dnsmessage.TypeAAAA && a.Is6():
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return out.Pack()
}

func (r *resolver) lookUp(name string) ([]netip.Addr, error) {
	ask := r.ask.Load()
	if ask == nil {
		return nil, errConnection
	}
	message, err := (*ask)(remote.FunctionResolve, []byte(name))
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for text := range strings.FieldsSeq(string(message)) {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, a.Unmap())
	}
	return addresses, nil
}
