// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problems collects errors of a page, and the addresses of its requests by ID.
type problems struct {
	texts    []string
	requests map[string]string
	// sent are the addresses of all requests since the last take.
	sent []string
}

// notice are the fields of all events that problems reads.
type notice struct {
	RequestID, Type, ErrorText string
	Canceled                   bool
	Request                    struct{ URL string }
	Response                   struct{ Status int }
	Args                       []struct {
		Value       any
		Description string
	}
	ExceptionDetails struct {
		Text      string
		Exception struct{ Description string }
	}
	Entry struct{ Source, Level, Text, URL string }
}

// add adds an event. It returns the HTTP status if the event is the answer with a document, or one
// that a script requested.
func (s *problems) add(method string, params json.RawMessage) (document int) {
	var n notice
	if err := json.Unmarshal(params, &n); err != nil {
		s.texts = append(s.texts, method+": "+err.Error())
		return 0
	}
	switch method {
	case "Network.requestWillBeSent":
		if s.requests == nil {
			s.requests = map[string]string{}
		}
		s.requests[n.RequestID] = n.Request.URL
		s.sent = append(s.sent, n.Request.URL)
	case "Network.responseReceived":
		if n.Type == "Document" || n.Type == "Fetch" && n.Response.Status < http.StatusInternalServerError {
			return n.Response.Status
		}
		if n.Response.Status >= http.StatusBadRequest {
			s.texts = append(s.texts, fmt.Sprintf("request %s: HTTP status %d", s.requests[n.RequestID], n.Response.Status))
		}
	case "Network.loadingFailed":
		// A request is canceled when another page is opened.
		if !n.Canceled {
			s.texts = append(s.texts, "request "+s.requests[n.RequestID]+": "+n.ErrorText)
		}
	case "Runtime.consoleAPICalled":
		if n.Type == "error" || n.Type == "warning" || n.Type == "assert" {
			s.texts = append(s.texts, fmt.Sprintf("console %s: %v", n.Type, n.Args))
		}
	case "Runtime.exceptionThrown":
		s.texts = append(s.texts, "exception: "+n.ExceptionDetails.Text+" "+n.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		// Failed requests are reported above.
		if n.Entry.Source != "network" && (n.Entry.Level == "error" || n.Entry.Level == "warning") {
			s.texts = append(s.texts, "console "+n.Entry.Level+": "+n.Entry.Text+" "+n.Entry.URL)
		}
	}
	return 0
}

// take returns all problems and forgets them.
func (s *problems) take(origin string) []string {
	all := s.texts
	for _, address := range s.sent {
		if address != origin && !strings.HasPrefix(address, origin+"/") {
			all = append(all, "request to another server: "+address)
		}
	}
	s.texts, s.sent = nil, nil
	return all
}
