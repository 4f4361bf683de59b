// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// deployer is the ServiceAccount of tenant-a, with all permissions in its namespace and no
	// others.
	deployer   = "deployer"
	tenantUser = "system:serviceaccount:tenant-a:" + deployer
	// controllerUser is the user of the controllers, with all permissions.
	controllerUser = "the-controller"
	// neighbour is the name of a release that runs at the same time.
	neighbour = "neighbour"
)

// tenancy is an API server with two tenants and an audit log. Two controllers serve it: one without
// references across namespaces and with the default ServiceAccount deployer, and one without
// restrictions.
type tenancy struct {
	a, b *world
	// strict gives a HelmRelease to the controller that takes none.
	strict func(*helmv2.HelmRelease)
	audit  string

	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

func newTenancy(t *testing.T) *tenancy {
	t.Helper()
	dir := t.TempDir()
	y := &tenancy{audit: filepath.Join(dir, "audit.log")}
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{harness.CRDs(os.Getenv("PINTLE_CRDS")), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "source-crds")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", y.audit)
	admin, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	before := suite
	end, err := useServer(admin)
	t.Cleanup(func() {
		end()
		suite = before
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	y.metadata, err = metadata.NewForConfig(admin)
	must(err)
	y.discovery, err = discovery.NewDiscoveryClientForConfig(admin)
	must(err)
	user, err := env.AddUser(envtest.User{Name: controllerUser, Groups: []string{"system:masters"}}, admin)
	must(err)
	for _, c := range []config{
		{settings: inputs.Settings{DependencyRetry: time.Hour}},
		{settings: inputs.Settings{DependencyRetry: time.Hour, NoCrossNamespaceRefs: true}, defaultServiceAccount: deployer, name: "strict"},
	} {
		c.endpoint = user.Config()
		stop, err := startController(c)
		must(err)
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
	y.strict = func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: "strict"} }
	y.a, y.b = newWorldIn(t, metav1.ObjectMeta{Name: "tenant-a"}), newWorldIn(t, metav1.ObjectMeta{Name: "tenant-b"})
	for _, w := range []*world{y.a, y.b} {
		w.must(suite.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deployer}}))
		w.grant(deployer, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: deployer}, everything())
	}
	return y
}

func everything() rbacv1.PolicyRule { return rule("*", []string{"*"}, []string{"*"}) }

// in makes a test the one that the tenants' worlds belong to.
func (y *tenancy) in(t *testing.T) {
	t.Helper()
	y.a.t, y.b.t = t, t
}

// permit grants permissions to the deployer of tenant-a, in a namespace or cluster-wide. It returns
// a function that revokes them.
func (y *tenancy) permit(namespace string, rules ...rbacv1.PolicyRule) (withdraw func()) {
	w := y.a
	w.t.Helper()
	// The API server makes up the name of the role, which the binding needs.
	meta := metav1.ObjectMeta{Namespace: namespace, GenerateName: "permit-"}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: deployer}}
	var role, binding client.Object
	if namespace == "" {
		role = &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
		w.must(suite.client.Create(w.t.Context(), role))
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()}}
	} else {
		role = &rbacv1.Role{ObjectMeta: meta, Rules: rules}
		w.must(suite.client.Create(w.t.Context(), role))
		binding = &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.GetName()}}
	}
	w.must(suite.client.Create(w.t.Context(), binding))
	y.a.untilReviewed(namespace, tenantUser, rules[0], true)
	return func() {
		w.t.Helper()
		w.must(suite.client.Delete(w.t.Context(), binding))
		w.must(suite.client.Delete(w.t.Context(), role))
		y.a.untilReviewed(namespace, tenantUser, rules[0], false)
	}
}

// inventory returns the versions of all objects in the namespace of tenant-b and of cluster-scoped
// ones, except events, the neighbour's objects, and objects that the API server changes at any time.
func (y *tenancy) inventory() map[string]string {
	w := y.b
	w.t.Helper()
	lists, err := y.discovery.ServerPreferredResources()
	w.must(err)
	all := map[string]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		w.must(err)
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains([]string{"events", "leases", "endpoints", "componentstatuses", "apiservices"}, r.Name) {
				continue
			}
			from := metadata.ResourceInterface(y.metadata.Resource(gv.WithResource(r.Name)))
			if r.Namespaced {
				from = y.metadata.Resource(gv.WithResource(r.Name)).Namespace(w.namespace)
			}
			objects, err := from.List(w.t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			w.must(err)
			for _, o := range objects.Items {
				if !strings.Contains(o.Name, neighbour) {
					all[r.Name+" "+o.Name] = string(o.UID) + " " + o.ResourceVersion
				}
			}
		}
	}
	return all
}

// unharmed compares the objects of tenant-b with an earlier inventory.
func (y *tenancy) unharmed(before map[string]string) {
	y.b.t.Helper()
	after := y.inventory()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch now, ok := after[name]; {
		case !ok:
			y.b.t.Errorf("%s was deleted", name)
		case now != before[name]:
			y.b.t.Errorf("%s was changed", name)
		}
		delete(after, name)
	}
	for name := range after {
		y.b.t.Errorf("%s was created", name)
	}
}

// refused waits until a HelmRelease reports a denied request, and checks that no object is
// deployed.
func (y *tenancy) refused(hr *helmv2.HelmRelease, reason string, words ...string) {
	y.a.t.Helper()
	y.said(hr, reason, words...)
	if last := hr.Status.History; len(last) > 0 && last[0].Status == helmv2.StatusDeployed {
		y.a.t.Errorf("it is deployed: %+v", last[0])
	}
}

// said waits for words in the condition of a HelmRelease and in an event, and checks that each is
// one line.
func (y *tenancy) said(hr *helmv2.HelmRelease, reason string, words ...string) {
	w := y.a
	w.t.Helper()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, reason, words...)
	w.untilEvent(hr, corev1.EventTypeWarning, reason, words...)
	message := condition(hr, helmv2.ConditionReady).Message
	w.t.Log(message)
	if strings.Contains(message, "\n") {
		w.t.Errorf("it is not said in a line: %s", message)
	}
}

// othersGoOn changes the releases that both tenants have besides.
func (y *tenancy) othersGoOn() {
	for _, w := range []*world{y.a, y.b} {
		w.t.Helper()
		hr := &helmv2.HelmRelease{}
		w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: neighbour}, hr))
		message := fmt.Sprint(time.Now().UnixNano())
		w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(w.t, map[string]any{"message": message}) })
		w.untilReady(hr)
		if got := w.configMap(neighbour).Data["message"]; got != message {
			w.t.Errorf("the neighbour in %s has message %q, want %q", w.namespace, got, message)
		}
	}
}

// request is the used part of an entry of the audit log.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	Impersonated *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Object *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Group       string `json:"apiGroup"`
	} `json:"objectRef"`
}

// requests returns the requests of the controllers.
func (y *tenancy) requests(t *testing.T) []request {
	t.Helper()
	content, err := os.ReadFile(y.audit)
	if err != nil {
		t.Fatal(err)
	}
	var all []request
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.User.Username == controllerUser {
			all = append(all, r)
		}
	}
	return all
}
