// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// secretType and dataKey are how Helm 3 and 4 store a revision.
	secretType = corev1.SecretType("helm.sh/release.v1")
	dataKey    = "release"
)

// recordPrefix begins the names of the Secrets that hold revisions.
const recordPrefix = storage.HelmStorageType + "."

// recordName returns the name of the Secret of a revision.
func recordName(release string, version int) string {
	return recordPrefix + release + ".v" + strconv.Itoa(version)
}

// records selects the Secrets of a release.
func records(release string) labels.Set { return labels.Set{"name": release, "owner": "helm"} }

// Record is what the metadata of a Secret says about the revision in it.
type Record struct {
	// Name is the Secret's.
	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
}

// version returns the number of the revision, 0 if nothing tells.
func (r *Record) version() int {
	if n, err := strconv.Atoi(r.Labels["version"]); err == nil {
		return n
	}
	n, _ := strconv.Atoi(r.Name[strings.LastIndex(r.Name, ".v")+len(".v"):])
	return n
}

func (r *Record) status() helmrelease.Status { return helmrelease.Status(r.Labels["status"]) }

// revision is all that is known of a revision that has not been read.
func (r *Record) revision() release.Revision {
	version := r.version()
	return release.Revision{
		Unread: true, Name: r.Labels["name"], Version: version, Status: helmv2.ReleaseStatus(r.status()),
		Owner:       owner(r.Labels, version),
		Interrupted: r.Labels[helmv2.LabelInterrupted] == "true",
		Outdated:    r.Labels[helmv2.LabelOutdated] == "true",
		Applied:     applied(r.Labels, version),
		Rollback:    rolledBack(r.Labels, version),
		Modified:    modified(r.Labels),
	}
}

// newestFirst sorts records by the numbers of their revisions.
func newestFirst(all []Record) {
	slices.SortFunc(all, func(a, b Record) int { return cmp.Compare(b.version(), a.version()) })
}

// secretAPI is what storage needs of the Secrets of a namespace. Only get
// transfers what is in a Secret; all else is answered with metadata.
type secretAPI interface {
	secretReader
	create(ctx context.Context, secret *corev1.Secret) (Record, error)
	update(ctx context.Context, secret *corev1.Secret) (Record, error)
	merge(ctx context.Context, name string, patch []byte) (Record, error)
	delete(ctx context.Context, name string) error
}

type secretReader interface {
	get(ctx context.Context, name string) (*corev1.Secret, error)
	// list returns the records that a selector matches, in no order, and the
	// resourceVersion at which these were all.
	list(ctx context.Context, selector labels.Set) (all []Record, at string, err error)
}

// secretClient is the secretAPI of an API server.
type secretClient struct {
	rest      rest.Interface
	namespace string
}

// secretsOf returns the Secrets of a namespace as the getter may see them.
func secretsOf(getter genericclioptions.RESTClientGetter, namespace string) (secretAPI, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := httpClient(getter, config)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	config = rest.CopyConfig(config)
	// A record is not in base64 inside JSON then.
	config.ContentType = runtime.ContentTypeProtobuf
	clients, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	return secretClient{rest: clients.RESTClient(), namespace: namespace}, nil
}

// What is asked for in an Accept header. An API server that knows no partial
// objects sends whole ones, which tell the same.
const (
	acceptSecret   = "application/vnd.kubernetes.protobuf,application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList     = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

func (c secretClient) request(r *rest.Request, accept string) *rest.Request {
	return r.Namespace(c.namespace).Resource("secrets").SetHeader("Accept", accept)
}

func (c secretClient) get(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, c.request(c.rest.Get(), acceptSecret).Name(name).Do(ctx).Into(secret)
}

func (c secretClient) list(ctx context.Context, selector labels.Set) ([]Record, string, error) {
	raw, err := body(c.request(c.rest.Get(), acceptList).
		VersionedParams(&metav1.ListOptions{LabelSelector: selector.String()}, scheme.ParameterCodec).
		Do(ctx))
	if err != nil {
		return nil, "", err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, "", fmt.Errorf("list of Secrets: %w", err)
	}
	var all []Record
	for i := range list.Items {
		if rec, ok := recordOf(&list.Items[i]); ok {
			all = append(all, rec)
		}
	}
	return all, list.ResourceVersion, nil
}

func (c secretClient) create(ctx context.Context, secret *corev1.Secret) (Record, error) {
	return answered(c.request(c.rest.Post(), acceptMetadata).Body(secret).Do(ctx))
}

func (c secretClient) update(ctx context.Context, secret *corev1.Secret) (Record, error) {
	return answered(c.request(c.rest.Put(), acceptMetadata).Name(secret.Name).Body(secret).Do(ctx))
}

func (c secretClient) merge(ctx context.Context, name string, patch []byte) (Record, error) {
	return answered(c.request(c.rest.Patch(types.MergePatchType), acceptMetadata).Name(name).Body(patch).Do(ctx))
}

func (c secretClient) delete(ctx context.Context, name string) error {
	return c.request(c.rest.Delete(), acceptMetadata).Name(name).Do(ctx).Error()
}

// answered is the record that a write was answered with.
func answered(result rest.Result) (Record, error) {
	raw, err := body(result)
	if err != nil {
		return Record{}, err
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		// What was written is written. That nobody knows as which version only means
		// that it will be read again.
		return Record{}, nil //nolint:nilerr // see above
	}
	rec, _ := recordOf(&object)
	return rec, nil
}

// body returns what was answered. Raw alone would not tell what is wrong.
func body(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// recordOf returns the record that an object is the metadata of. Other Secrets
// may bear the same labels; their names tell them apart.
func recordOf(object metav1.Object) (Record, bool) {
	return Record{
		Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Labels: object.GetLabels(),
	}, strings.HasPrefix(object.GetName(), recordPrefix)
}
