// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/view/read"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

// now is the time of all tests.
var now = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// world is a cluster in memory, and the session of a user.
type world struct {
	t       *testing.T
	objects []client.Object
	// forbidden are resources that the user may not read, by the type of list or object.
	forbidden map[string]bool
	// denied returns whether ServiceAccounts lack a right.
	denied  func(user string, right authorizationv1.ResourceAttributes) bool
	env     map[string]string
	examine read.Examine
	// react changes a HelmRelease that is read, as the controller would.
	react func(hr *helmv2.HelmRelease)
	// operate does the same with an Operation.
	operate func(op *opsv1alpha1.Operation)
	logs    evidence.Opener
	stored  read.Stored
	differ  differ
	// in is the standard input.
	in string
	// user is the name of the user.
	user string
	// patch, unread and uncreated are errors of changes, of reads and of new objects.
	patch     error
	unread    func() error
	uncreated func(object client.Object) error
	session   *Session
	client    client.WithWatch
	out       bytes.Buffer
	err       bytes.Buffer
}

// newWorld returns a world with the objects of a file in testdata; none if it is empty.
func newWorld(t *testing.T, file string) *world {
	t.Helper()
	w := &world{t: t, forbidden: map[string]bool{}, env: map[string]string{}}
	scheme, err := read.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if file != "" {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
		for document := range strings.SplitSeq(string(raw), "\n---\n") {
			object, _, err := decoder.Decode([]byte(document), nil, nil)
			if err != nil {
				t.Fatalf("%v in\n%s", err, document)
			}
			w.objects = append(w.objects, object.(client.Object))
		}
	}
	return w
}

// start makes the client.
func (w *world) start() {
	scheme, err := read.Scheme()
	if err != nil {
		w.t.Fatal(err)
	}
	forbidden := func(object any) error {
		kind := strings.TrimSuffix(fmt.Sprintf("%T", object)[strings.LastIndex(fmt.Sprintf("%T", object), ".")+1:], "List")
		if w.forbidden[kind] {
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("the test forbids it"))
		}
		return nil
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(w.objects...).WithStatusSubresource().
		WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err := forbidden(list); err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
				if err := forbidden(object); err != nil {
					return err
				}
				if _, limited := ctx.Deadline(); limited {
					return errors.New("the rate limiter of a client refuses requests shortly before a deadline")
				}
				if w.unread != nil {
					if err := w.unread(); err != nil {
						return err
					}
				}
				err := c.Get(ctx, key, object, opts...)
				if hr, ok := object.(*helmv2.HelmRelease); ok && err == nil && w.react != nil {
					w.react(hr)
				}
				if op, ok := object.(*opsv1alpha1.Operation); ok && err == nil && w.operate != nil {
					w.operate(op)
				}
				return err
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if w.patch != nil {
					return w.patch
				}
				o := (&client.PatchOptions{}).ApplyOptions(opts)
				if o.FieldManager == "" || strings.HasPrefix(o.FieldManager, "kubectl") {
					return fmt.Errorf("kustomize-controller would undo changes of the field manager %q", o.FieldManager)
				}
				return c.Patch(ctx, object, patch, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
				if self, ok := object.(*authenticationv1.SelfSubjectReview); ok {
					self.Status.UserInfo.Username = w.user
					return nil
				}
				if self, ok := object.(*authorizationv1.SelfSubjectAccessReview); ok {
					self.Status.Allowed = w.denied == nil || !w.denied(w.user, *self.Spec.ResourceAttributes)
					return forbidden(object)
				}
				review, ok := object.(*authorizationv1.SubjectAccessReview)
				if !ok {
					if w.uncreated != nil {
						if err := w.uncreated(object); err != nil {
							return err
						}
					}
					return c.Create(ctx, object, opts...)
				}
				review.Status.Allowed = w.denied == nil || !w.denied(review.Spec.User, *review.Spec.ResourceAttributes)
				return forbidden(object)
			},
		}).Build()
}

// run runs a command and returns its exit code.
func (w *world) run(args ...string) int {
	w.t.Helper()
	if w.client == nil {
		w.start()
	}
	w.t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	w.out.Reset()
	w.err.Reset()
	w.session = &Session{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(w.in), Out: &w.out, ErrOut: &w.err},
		Now:       func() time.Time { return now }, Env: func(name string) string { return w.env[name] }, client: w.client, examine: w.examine, logs: w.logs, stored: w.stored, differ: w.differ,
		Terminal: w.env["TERM"] != "",
	}
	cmd := Command(w.session)
	cmd.SetArgs(args)
	return w.session.Report(cmd.ExecuteContext(w.t.Context()))
}

// golden compares the output of commands with a file.
func (w *world) golden(name string, commands ...string) {
	w.t.Helper()
	var b strings.Builder
	for _, command := range commands {
		code := w.run(strings.Fields(command)...)
		fmt.Fprintf(&b, "$ kubectl pintle %s\n%s%s", command, w.out.String(), w.err.String())
		if code != 0 {
			fmt.Fprintf(&b, "exit code %d\n", code)
		}
		b.WriteByte('\n')
	}
	path := filepath.Join("testdata", name+".golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		w.t.Errorf("%s differs; -rewrite writes it. Got:\n%s", path, got)
	}
}
