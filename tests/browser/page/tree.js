'use strict';
// Checks DOM trees against a policy's lists. The trees are hostile: a form with a control named "attributes" answers
// form.attributes with that control. Hence members are read through the prototypes only.

const getter = (prototype, name) => {
  const get = Object.getOwnPropertyDescriptor(prototype, name).get;
  return node => get.call(node);
};
const attributesOf = getter(Element.prototype, 'attributes');
const localNameOf = getter(Element.prototype, 'localName');
const namespaceOf = getter(Element.prototype, 'namespaceURI');
const typeOf = getter(Node.prototype, 'nodeType');
const childrenOf = getter(Node.prototype, 'childNodes');
const contentOf = getter(HTMLTemplateElement.prototype, 'content');
const styleOf = getter(HTMLElement.prototype, 'style');

const html = 'http://www.w3.org/1999/xhtml';
const baseUrl = 'http://base.example/dir/page.html';
const frameOfPage = new Set(['html', 'head', 'body']);

// Calls `visit` for every node below `root` in document order, including the content of templates.
function walk(root, visit) {
  const waiting = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    visit(node);
    const isTemplate = typeOf(node) === 1 && namespaceOf(node) === html && localNameOf(node) === 'template';
    const children = childrenOf(isTemplate ? contentOf(node) : node);
    for (let i = children.length - 1; i >= 0; --i) waiting.push(children[i]);
  }
}

function urlFlaw(policy, element, name, value) {
  const strict = policy === policies.strict;
  let url = null;
  try {
    url = strict ? new URL(value) : new URL(value, baseUrl);
  } catch {
    return strict ? `no absolute URL: ${value}` : '';  // classic: a URL that no browser can parse is harmless
  }
  const scheme = url.protocol.slice(0, -1);
  const allowed = strict && element === 'a' && name === 'href' ? policy.linkSchemes : policy.schemes;
  if (!allowed.has(scheme)) return `scheme ${scheme}: ${value}`;
  if (strict && (url.username !== '' || url.password !== '')) return `credentials: ${value}`;
  return '';
}

// HTML §srcset: commas separate candidates, white space separates URL and descriptor.
function srcsetFlaw(policy, value) {
  for (const candidate of value.split(/,\s+/)) {
    const url = candidate.trim().split(/\s+/)[0];
    const flaw = urlFlaw(policy, 'img', 'srcset', url);
    if (flaw !== '') return flaw;
  }
  return '';
}

function styleFlaw(policy, node, value) {
  if (/url\s*\(|expression|javascript|image\s*\(|image-set|@import|[\\<>{}]|\/\*|behaviou?r|binding/i.test(value))
    return value;
  for (const declaration of value.split(';')) {
    const property = declaration.split(':')[0].trim().toLowerCase();
    const known = property === '' || policy.styles.has(property) || policy.styleFamilies.includes(property.split('-')[0]);
    if (!known) return `property ${property}`;
  }
  // Checks the style as the browser parsed it: longhands of the same families, and nothing it would fetch.
  const style = styleOf(node);
  for (let i = 0; i < style.length; ++i) {
    if (/url\(|image\(/i.test(style.getPropertyValue(style[i]))) return `${style[i]} fetches`;
    if (/^(position|inset|top|left|right|bottom|z-index|content|animation|transition|behavior)/.test(style[i]))
      return `property ${style[i]}`;
  }
  return '';
}

// Reports everything at this node that is not on the policy's lists through `find(kind, detail)`.
function checkNode(policy, node, find) {
  const type = typeOf(node);
  if (type === 3) return;
  if (type === 8 && policy === policies.classic) return;  // feedparser keeps comments
  if (type !== 1) {
    if (type !== 11) find('node', `type ${type}`);
    return;
  }
  const name = localNameOf(node);
  if (namespaceOf(node) !== html || !policy.elements.has(name)) find('element', name);
  const own = policy.own[name] === undefined ? new Set() : words(policy.own[name]);
  for (const attribute of attributesOf(node)) {
    if (attribute.namespaceURI !== null || !(policy.everywhere.has(attribute.name) || own.has(attribute.name))) {
      find('attribute', `${name} ${attribute.name}`);
      continue;
    }
    const value = attribute.value;
    const flaw = policy.urls.has(attribute.name) ? urlFlaw(policy, name, attribute.name, value)
        : attribute.name === 'srcset'            ? srcsetFlaw(policy, value)
        : attribute.name === 'style'             ? styleFlaw(policy, node, value)
                                                 : '';
    if (flaw !== '') find(attribute.name === 'style' ? 'style' : 'url', `${name} ${attribute.name}: ${flaw}`);
  }
}

// A tree as text, normalising only what parsing and serialising may change: the order of attributes and the white space
// around their values.
function canonical(root) {
  const out = [];
  walk(root, node => {
    const type = typeOf(node);
    if (type === 3 || type === 8) out.push(type, node.data);
    if (type !== 1) return;
    out.push('<', localNameOf(node), childrenOf(node).length);
    for (const text of [...attributesOf(node)].map(a => `${a.name}=${a.value.trim()}`).sort()) out.push(text);
  });
  return out.join('\n');
}
