// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOneLine: errors about missing permissions have one line, and others stay as they are.
func TestOneLine(t *testing.T) {
	const may = `things is forbidden: User "system:serviceaccount:a:b" cannot create resource "things"`
	forbidden := apierrors.NewForbidden(apischema.GroupResource{Resource: "things"}, "x", errors.New("not you"))
	tests := map[string]struct {
		err  error
		want string
	}{
		"Plain":       {err: errors.New(may), want: may},
		"OneOccurred": {err: fmt.Errorf("Thing x: %w", errors.New("1 error occurred:\n\t* "+may+"\n\n")), want: "Thing x: " + may},
		"Several":     {err: errors.New("2 errors occurred:\n\t* " + may + "\n\t* " + may + "\n\n"), want: may + "; " + may},
		"Joined":      {err: fmt.Errorf("failed to delete release: x: %w", errors.Join(forbidden, errors.New(may))), want: "failed to delete release: x: " + forbidden.Error() + "; " + may},
		"Rights": {
			err:  errors.New(`roles "r" is forbidden: user "u" is attempting to grant RBAC permissions not currently held:` + "\n{Verbs:[get]}\n{Verbs:[list]}"),
			want: `roles "r" is forbidden: user "u" is attempting to grant RBAC permissions not currently held: {Verbs:[get]}; {Verbs:[list]}`,
		},
		"Others": {err: errors.New("values do not fit:\n- one\n- two"), want: "values do not fit:\n- one\n- two"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := OneLine(tt.err)
			if got.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !errors.Is(got, tt.err) {
				t.Error("the cause is lost")
			}
		})
	}
	if OneLine(nil) != nil {
		t.Error("nothing is something")
	}
	if got := OneLine(errors.Join(forbidden, errors.New(may))); !apierrors.IsForbidden(got) {
		t.Error("it is not forbidden any more")
	}
}
